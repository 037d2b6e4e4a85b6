import { anySignal, backoffMs, errorMessage, type Instant, Signal } from '@gantry/base';
import { backoffAfter } from '@gantry/client';
import { keyOf, type Pod } from '@gantry/objects';
import type { Eviction } from '../plan/pod-memory.ts';
import type { PodGoal } from '../plan/pod-plan.ts';
import type { PodState } from '../runtime/observer.ts';
import { isStaticUid } from '../spec/static-pod.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import { PodEvents } from './pod-events.ts';
import { PodObservation } from './pod-observation.ts';
import { recall, recordOf } from './pod-record.ts';
import { createWorkerMemory, disposeLater } from './worker-memory.ts';
import type { EndServices } from './worker-services.ts';

const FAILURE_BACKOFF = { initialMs: 500, maxMs: 10_000 };

/** What follows a step. */
export type AfterStep = 'again' | 'ended' | { readonly requeueAt: Instant };

/**
 * The worker of one pod: repeats `once` until it ends, and sleeps until it is notified. Notifications carry no reason, with one
 * exception: whether the engine may have changed and must be asked again.
 */
export abstract class PodSteps {
  protected readonly uid: string;
  protected readonly memory = createWorkerMemory();
  protected readonly events: PodEvents;
  protected goal: PodGoal = 'run';
  /** Passed before actions begin, so that they are not based on outdated state. */
  protected readonly gate: FreshnessGate;
  readonly #services: EndServices;
  readonly #isFollowed: () => boolean;
  readonly #observation = new PodObservation();
  readonly #work = new Signal();
  /** Ends the wait after a failure when the pod is deleted, or its grace period is shortened. */
  readonly #hurry = new Signal();
  #wish = '';
  #step = new AbortController();
  /** The text of the record on disk. */
  #record = '';
  #isRecalled = false;
  /** Whether the node was cut off when the current step began. */
  #beganCutOff = false;

  /** `isFollowed` returns whether changes in the engine are reported to `engineChanged`. */
  constructor(uid: string, services: EndServices, isFollowed: () => boolean) {
    this.uid = uid;
    this.#services = services;
    this.#isFollowed = isFollowed;
    this.events = new PodEvents(services.events);
    this.gate = isStaticUid(uid) ? services.staticGate : services.gate;
  }

  /** Observes, plans and acts once. */
  protected abstract once(step: AbortSignal, signal: AbortSignal): Promise<AfterStep>;

  /** Whether a step toward running has to be aborted. */
  protected isEnding(pod: Pod | undefined): boolean {
    return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
  }

  /** Whether the pod's containers must stop because the node is cut off from the control plane. */
  protected isCutOff(): boolean {
    return false;
  }

  /** A former agent has recorded that it evicts the pod. */
  protected evicted(_eviction: Eviction): void {}

  /** Ends background work of the worker. */
  protected stop(): void {}

  /** Call it when the pod may have changed in the engine. */
  engineChanged(): void {
    this.outdate();
    this.notify();
  }

  /** Drops the cached state of the pod. */
  outdate(): void {
    this.#observation.outdate();
  }

  /**
   * Call it when something other than the engine may have changed. Aborts a step toward running when the pod is ending, and any step that
   * began before the node was cut off: it may wait for the API.
   */
  notify(): void {
    const pod = this.#services.pods.get(this.uid);
    const isEnding = this.isEnding(pod);
    if ((this.goal === 'run' && isEnding) || (this.isCutOff() && !this.#beganCutOff)) this.#step.abort();
    if (wishOf(pod) !== this.#wish) this.#hurry.notify();
    this.#work.notify();
  }

  /** Increases whenever the cached state may be outdated: see `relisted`. */
  get epoch(): number {
    return this.#observation.epoch;
  }

  /** Uses this pod's part of a list of all pods, so that the pod is not listed again. Read `epoch` before the list begins. */
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
      await this.#remember();
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
        await this.#remember();
        using step = anySignal(signal, this.#step.signal);
        // The step reads everything that was notified until now.
        this.#work.clear();
        this.#hurry.clear();
        this.#beganCutOff = this.isCutOff();
        this.#wish = wishOf(this.#services.pods.get(this.uid));
        const outcome = await this.#recordedStep(step, signal);
        failures = 0;
        if (outcome === 'ended') return;
        if (outcome !== 'again') await this.#work.wait(clock, outcome.requeueAt - clock.now(), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#step.signal.aborted) continue;
        failures += 1;
        logger.warn({ pod: this.uid, reason: errorMessage(error) }, 'a step of a pod failed');
        using _ = this.#services.steps.backOff();
        await this.#hurry.wait(clock, backoffMs(backoffAfter(error, FAILURE_BACKOFF), failures, random), signal);
      }
    }
  }

  async #recordedStep(step: AbortSignal, signal: AbortSignal): Promise<AfterStep> {
    const { pods, steps } = this.#services;
    const pod = pods.get(this.uid);
    // Of a pod that only the engine has, the name is not known here.
    const running = steps.begin(this.uid, pod === undefined ? { namespace: '', name: this.uid } : keyOf(pod));
    try {
      const outcome = await this.once(step, signal);
      running.ended('done');
      return outcome;
    } catch (error) {
      if (step.aborted) running.ended('aborted');
      else running.ended('failed', error);
      throw error;
    }
  }

  /** Takes over, once, what a former agent has recorded. There is nothing of a pod of which neither the engine nor the API shows a container. */
  async #recall(state: PodState | undefined): Promise<void> {
    if (this.#isRecalled) return;
    this.#isRecalled = true;
    const { pods, volumes, clock, logger } = this.#services;
    const { containerStatuses, initContainerStatuses } = pods.get(this.uid)?.status ?? {};
    if (state === undefined && containerStatuses === undefined && initContainerStatuses === undefined) return;
    try {
      this.#record = await volumes.readRecord(this.uid);
      const eviction = recall(this.#record, this.memory, clock, this.#services.machineStart);
      if (eviction !== undefined) this.evicted(eviction);
    } catch (error) {
      logger.warn({ pod: this.uid, reason: errorMessage(error) }, 'cannot read the record of a pod');
    }
  }

  /** Records what the next agent has to know. A disk that is full must not keep the pod from ending. */
  async #remember(): Promise<void> {
    const { pods, volumes, clock, logger } = this.#services;
    const record = recordOf(this.memory, clock, this.#services.machineStart);
    const isReleased = pods.get(this.uid) === undefined || this.memory.releasedFor !== undefined;
    if (record === this.#record || isReleased) return;
    try {
      await volumes.writeRecord(this.uid, record);
      this.#record = record;
    } catch (error) {
      logger.warn({ pod: this.uid, reason: errorMessage(error) }, 'cannot record the state of a pod');
    }
  }

  /** The engine's current state of the pod. The first call also reads what a former agent has recorded. */
  protected async look(step: AbortSignal): Promise<PodState | undefined> {
    const state = await this.#lookAtEngine(step);
    await this.#recall(state);
    return state;
  }

  async #lookAtEngine(step: AbortSignal): Promise<PodState | undefined> {
    const { kept } = this.#observation;
    if (kept !== undefined && this.#isFollowed()) return kept.state;
    const { runtime, owner } = this.#services;
    // An earlier list of all pods may be older than this one.
    this.outdate();
    const { epoch } = this.#observation;
    const [listed] = await runtime.observer.listPods({ ...owner, podUid: this.uid }, step);
    this.#observation.keep(listed, epoch);
    return listed;
  }
}

/** The parts of the object that a worker in its back-off must not miss. */
function wishOf(pod: Pod | undefined): string {
  if (pod === undefined) return 'gone';
  const { deletionTimestamp = '', deletionGracePeriodSeconds = '' } = pod.metadata;
  return `${deletionTimestamp}/${deletionGracePeriodSeconds}`;
}
