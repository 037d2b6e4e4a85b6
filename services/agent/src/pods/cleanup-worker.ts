import { allEnded } from '@gantry/base';
import { interpretEnds, killedIn } from '../plan/interpret-ends.ts';
import { computePodActions } from '../plan/plan.ts';
import { endsSomething, performEnd } from './perform-action.ts';
import { type AfterStep, PodSteps } from './pod-steps.ts';
import { forgetEnded } from './stop-container.ts';
import type { EndServices } from './worker-services.ts';

/** Ends one pod in place of an agent that is gone. Acts only on a deleted pod, and reports no status. */
export class CleanupWorker extends PodSteps {
  readonly #services: EndServices;

  constructor(uid: string, services: EndServices, isFollowed: () => boolean) {
    super(uid, services, isFollowed);
    this.#services = services;
  }

  protected async once(step: AbortSignal, signal: AbortSignal): Promise<AfterStep> {
    const { pods, clock } = this.#services;
    const { uid, memory, events } = this;
    const listed = await this.look(step);
    const pod = pods.get(uid);
    const state = interpretEnds(pod, listed, memory.killed);
    for (const id of killedIn(listed, state)) memory.killed.add(id);
    forgetEnded(memory, state);
    const plan = computePodActions(pod, state, memory, clock.now());
    this.goal = plan.goal;
    const planned = plan.goal === 'delete' ? plan.actions.filter(endsSomething) : [];
    const isReleased = pod !== undefined && memory.releasedFor === pod.metadata.deletionTimestamp;
    const actions = planned.filter(({ kind }) => kind !== 'release' || !isReleased);
    if (actions.length === 0) return { requeueAt: plan.requeueAt ?? Infinity };
    await this.gate.pass(step);
    if (pods.get(uid) !== pod) return 'again';
    const notify = () => this.engineChanged();
    const context = { uid, pod, state, memory, events, services: this.#services, step, signal, notify };
    try {
      await allEnded(actions.map((action) => performEnd(action, context)));
    } finally {
      this.outdate();
    }
    return pod === undefined && actions.some((action) => action.kind === 'release') ? 'ended' : 'again';
  }
}
