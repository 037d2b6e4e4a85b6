import { anySignal, backoffMs, errorMessage, type Instant, Signal } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { PodGoal } from '../plan/pod-plan.ts';
import type { PodState } from '../runtime/observer.ts';
import { isStaticUid } from '../spec/static-pod.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import { PodEvents } from './pod-events.ts';
import { PodObservation } from './pod-observation.ts';
import { createWorkerMemory, disposeLater } from './worker-memory.ts';
import type { EndServices } from './worker-services.ts';

const FAILURE_BACKOFF = { initialMs: 500, maxMs: 10_000 };

/** What comes after a step. */
export type AfterStep = 'again' | 'ended' | { readonly requeueAt: Instant };

/**
 * A worker of one pod: repeats `once` until it ends, and sleeps until it is notified. The reason of a notification matters for one thing
 * only: whether the engine is asked again.
 */
export abstract class PodSteps {
  protected readonly uid: string;
  protected readonly memory = createWorkerMemory();
  protected readonly events: PodEvents;
  protected goal: PodGoal = 'run';
  /** Passed before actions begin: what the agent knows of the pod must not be old. */
  protected readonly gate: FreshnessGate;
  readonly #services: EndServices;
  readonly #isFollowed: () => boolean;
  readonly #observation = new PodObservation();
  readonly #work = new Signal();
  /** Ends the wait after a failure: the pod is to be deleted, or faster than before. */
  readonly #hurry = new Signal();
  #wish = '';
  #step = new AbortController();

  /** `isFollowed` says whether the engine's changes are reported to `engineChanged`. */
  constructor(uid: string, services: EndServices, isFollowed: () => boolean) {
    this.uid = uid;
    this.#services = services;
    this.#isFollowed = isFollowed;
    this.events = new PodEvents(services.events);
    this.gate = isStaticUid(uid) ? services.staticGate : services.gate;
  }

  /** Observes, plans and acts once. */
  protected abstract once(step: AbortSignal, signal: AbortSignal): Promise<AfterStep>;

  /** Whether a step toward running is to be aborted. */
  protected isEnding(pod: Pod | undefined): boolean {
    return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
  }

  /** Ends what the worker has begun beside its steps. */
  protected stop(): void {}

  /** The pod may have changed in the engine. */
  engineChanged(): void {
    this.outdate();
    this.notify();
  }

  /** What was found out about the pod is not used any more. */
  outdate(): void {
    this.#observation.outdate();
  }

  /** Something else than the engine may have changed. A step toward running is aborted when the pod is ending. */
  notify(): void {
    const pod = this.#services.pods.get(this.uid);
    const isEnding = this.isEnding(pod);
    if (this.goal === 'run' && isEnding) this.#step.abort();
    if (wishOf(pod) !== this.#wish) this.#hurry.notify();
    this.#work.notify();
  }

  /** Changes whenever what was found out about the pod may be out of date: see `relisted`. */
  get epoch(): number {
    return this.#observation.epoch;
  }

  /** Uses this pod's part of a list of all pods, so that the pod is not listed again. `epoch` was read before the list began. */
  relisted(state: PodState | undefined, epoch: number): void {
    if (this.#observation.keep(state, epoch) === 'outdated') this.engineChanged();
    else this.#work.notify();
  }

  /** Runs until nothing of the pod is left, or `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#loop(signal);
    } finally {
      this.stop();
      const { prepared, disposals } = this.memory;
      for (const container of prepared.values()) disposeLater(this.memory, container);
      await Promise.all(disposals);
    }
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#services;
    let failures = 0;
    while (!signal.aborted) {
      this.#step = new AbortController();
      try {
        using step = anySignal(signal, this.#step.signal);
        // Everything that was notified of until now is read by the step.
        this.#work.clear();
        this.#hurry.clear();
        this.#wish = wishOf(this.#services.pods.get(this.uid));
        const outcome = await this.once(step, signal);
        failures = 0;
        if (outcome === 'ended') return;
        if (outcome !== 'again') await this.#work.wait(clock, outcome.requeueAt - clock.now(), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#step.signal.aborted) continue;
        failures += 1;
        logger.warn({ pod: this.uid, reason: errorMessage(error) }, 'a step of a pod failed');
        await this.#hurry.wait(clock, backoffMs(FAILURE_BACKOFF, failures, random), signal);
      }
    }
  }

  /** What the engine has of the pod now. */
  protected async look(step: AbortSignal): Promise<PodState | undefined> {
    const { kept } = this.#observation;
    if (kept !== undefined && this.#isFollowed()) return kept.state;
    const { runtime, owner } = this.#services;
    // A list of all pods that began before may be older than this one.
    this.outdate();
    const { epoch } = this.#observation;
    const [listed] = await runtime.observer.listPods({ ...owner, podUid: this.uid }, step);
    this.#observation.keep(listed, epoch);
    return listed;
  }
}

/** What the API asks for that a worker in its back-off must not miss. */
function wishOf(pod: Pod | undefined): string {
  if (pod === undefined) return 'gone';
  const { deletionTimestamp = '', deletionGracePeriodSeconds = '' } = pod.metadata;
  return `${deletionTimestamp}/${deletionGracePeriodSeconds}`;
}
