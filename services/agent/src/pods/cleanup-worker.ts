import { allEnded, formatTime } from '@gantry/base';
import {
  CONTAINERS_STOPPED,
  isFinalPhase,
  keyOf,
  type Pod,
  PODS,
  type PodCondition,
  type PodStatus,
} from '@gantry/objects';
import { interpretEnds, killedIn } from '../plan/interpret-ends.ts';
import { computePodActions } from '../plan/plan.ts';
import { AgentError } from '../runtime/agent-error.ts';
import { endsSomething, performEnd } from './perform-action.ts';
import { type AfterStep, PodSteps } from './pod-steps.ts';
import { forgetEnded } from './stop-container.ts';
import type { EndServices } from './worker-services.ts';

/** Whether the pods' agent has not renewed its Lease since it counts as dead, by a linearizable read. */
export type AgentSilence = (signal: AbortSignal) => Promise<boolean>;

/** Ends one pod in place of an agent that is gone. Acts only on a deleted pod, and reports no status before nothing of the pod is left. */
export class CleanupWorker extends PodSteps {
  readonly #services: EndServices;
  readonly #isSilent: AgentSilence;

  constructor(
    uid: string,
    { services, isSilent }: { readonly services: EndServices; readonly isSilent: AgentSilence },
    isFollowed: () => boolean,
  ) {
    super(uid, services, isFollowed);
    this.#services = services;
    this.#isSilent = isSilent;
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
    const prove = (deleted: Pod) => this.#prove(deleted, step);
    const context = { uid, pod, state, memory, events, services: this.#services, step, signal, prove, notify };
    try {
      await allEnded(actions.map((action) => performEnd(action, context)));
    } finally {
      this.outdate();
    }
    return pod === undefined && actions.some((action) => action.kind === 'release') ? 'ended' : 'again';
  }

  /**
   * Writes into a deleted pod that its containers have stopped. The order matters: the pod is deleted, so an agent that renews its Lease after
   * the first read sees that before it starts anything; one that has not renewed it has started nothing since, so the list that follows has
   * all that was started. AgentError 'Outdated' when there is no proof.
   */
  async #prove(pod: Pod, step: AbortSignal): Promise<Pod> {
    const { runtime, owner, client, clock } = this.#services;
    if (!(await this.#isSilent(step))) throw new AgentError('Outdated', 'the agent of the pod is back');
    // A list of the whole node is asked of the engine. One of the pod may come from events, which may be late.
    const listed = await runtime.observer.listPods(owner, step);
    if (listed.some(({ identity }) => identity.uid === this.uid)) {
      throw new AgentError('Outdated', 'the pod has a new container');
    }
    const { uid } = pod.metadata;
    const change = { metadata: { uid }, status: provenStatus(pod, formatTime(clock.now())) };
    return await client.patch(PODS, keyOf(pod), { strategic: change, subresource: 'status' }, step);
  }
}

/** A strategic merge patch of the status of a pod without containers. */
function provenStatus({ status, metadata: { generation } }: Pod, lastTransitionTime: string): PodStatus {
  const has = (type: string) => status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
  const proof: PodCondition = {
    type: CONTAINERS_STOPPED,
    status: 'True',
    reason: 'StoppedByHostCustodian',
    message: 'The agent is gone. Another agent of its host has removed all containers of the pod.',
    lastTransitionTime,
    observedGeneration: generation,
  };
  const unready = ['Ready', 'ContainersReady']
    .filter(has)
    .map((type) => ({ type, status: 'False', lastTransitionTime }));
  const conditions = [...(has(CONTAINERS_STOPPED) ? [] : [proof]), ...unready];
  return {
    ...(isFinalPhase(status?.phase) ? {} : { phase: 'Failed' }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}
