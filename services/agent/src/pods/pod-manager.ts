import { backoffMs, ControlLoop, errorMessage, pause } from '@gantry/base';
import { isStaticPod } from '../spec/static-pod.ts';
import { type AgentSilence, CleanupWorker } from './cleanup-worker.ts';
import type { PodSteps } from './pod-steps.ts';
import { PodWorker } from './pod-worker.ts';
import type { EndServices, WorkerServices } from './worker-services.ts';

const RELIST_MS = 60_000;
const RECONNECT = { initialMs: 200, maxMs: 5_000 };

/** How a manager creates workers, and which sources notify them besides API and engine. */
export interface PodWorkers {
  readonly create: (uid: string, isFollowed: () => boolean) => PodSteps;
  /** Without a uid, all workers are notified. */
  readonly changes: readonly { readonly subscribe: (listener: (uid?: string) => void) => () => void }[];
}

/** The workers of a node's own pods. */
export function ownWorkers(services: WorkerServices): PodWorkers {
  return {
    create: (uid, isFollowed) => new PodWorker(uid, services, isFollowed),
    changes: [services.observers.evictions, services.observers.fence, services.configs],
  };
}

/** The workers that clean up for an agent that is gone. */
export function cleanupWorkers(services: EndServices, isSilent: AgentSilence): PodWorkers {
  return { create: (uid, isFollowed) => new CleanupWorker(uid, { services, isSilent }, isFollowed), changes: [] };
}

/** Runs one worker per pod that exists in the API or in the engine; both notify the workers. A slow relist covers lost events. */
export class PodManager {
  readonly #services: EndServices;
  readonly #kind: PodWorkers;
  readonly #workers = new Map<string, PodSteps>();
  readonly #running = new Set<Promise<void>>();
  readonly #listeners = new Set<(uid: string) => void>();
  /** Pods that the engine has or has reported a change of, with the number of the last list at that time. */
  readonly #reported = new Map<string, number>();
  #lists = 0;
  /** Whether the engine reports changes. If not, a worker lists its pod before each step. */
  #isFollowing = false;
  /** Whether the engine has only pods in `#reported`. */
  #isComplete = false;

  constructor(services: EndServices, kind: PodWorkers) {
    this.#services = services;
    this.#kind = kind;
  }

  /** Runs until `signal` is aborted; the pods' containers keep running. */
  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#services.pods.subscribe((uid) => this.#notify(uid, signal));
    const ends = this.#kind.changes.map((each) => each.subscribe((uid) => this.#changed(uid)));
    for (const pod of this.#services.pods.list()) this.#notify(pod.metadata.uid ?? '', signal);
    try {
      await Promise.all([this.#followEngine(signal), this.#relistSlowly(signal)]);
    } finally {
      unsubscribe();
      for (const end of ends) end();
      await Promise.all(this.#running);
    }
  }

  /** Whether the API or the engine may still have something of a pod. */
  isActive(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** Calls the listener when nothing of a pod is left. Returns a function that unsubscribes it. */
  onEnded(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(uid: string | undefined): void {
    if (uid !== undefined) this.#workers.get(uid)?.notify();
    else for (const worker of this.#workers.values()) worker.notify();
  }

  #engineChanged(uid: string, signal: AbortSignal): void {
    this.#reported.set(uid, this.#lists);
    this.#workers.get(uid)?.engineChanged();
    this.#notify(uid, signal);
  }

  #notify(uid: string, signal: AbortSignal): void {
    if (uid === '' || !this.#services.pods.knows(uid)) return;
    const worker = this.#workers.get(uid);
    if (worker !== undefined) worker.notify();
    else if (!signal.aborted) this.#start(uid, signal);
  }

  #start(uid: string, signal: AbortSignal): void {
    const worker = this.#kind.create(uid, () => this.#isFollowing);
    this.#workers.set(uid, worker);
    // Most pods are new, and no other process creates containers for this node, so the first step needs no list.
    if (this.#isComplete && !this.#reported.has(uid)) worker.relisted(undefined, worker.epoch);
    const running = worker.run(signal).finally(() => {
      this.#workers.delete(uid);
      this.#running.delete(running);
      if (signal.aborted) return;
      for (const listener of this.#listeners) listener(uid);
      // A static pod may be waiting for the end of the pod from its file's earlier content.
      for (const pod of this.#services.pods.list()) {
        if (isStaticPod(pod)) this.#notify(pod.metadata.uid ?? '', signal);
      }
      if (this.#services.pods.get(uid) !== undefined) this.#notify(uid, signal);
    });
    this.#running.add(running);
  }

  async #followEngine(signal: AbortSignal): Promise<void> {
    const { runtime, owner, clock, random, logger } = this.#services;
    let failures = 0;
    while (!signal.aborted) {
      try {
        for await (const event of runtime.observer.watch(owner.cluster, signal)) {
          if (event === 'connected') {
            for (const worker of this.#workers.values()) worker.outdate();
            this.#isFollowing = true;
            await this.#relist(signal);
            this.#isComplete = true;
            failures = 0;
          } else if (event.node === owner.node && event.podUid !== '') this.#engineChanged(event.podUid, signal);
        }
      } catch (error) {
        if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, 'events of the engine ended');
      }
      this.#isFollowing = false;
      this.#isComplete = false;
      failures += 1;
      await pause(clock, backoffMs(RECONNECT, failures, random), signal);
    }
  }

  async #relistSlowly(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#services;
    const loop = new ControlLoop({
      round: () => this.#relist(signal),
      intervalMs: RELIST_MS,
      onError: (error) => logger.warn({ reason: errorMessage(error) }, 'cannot list containers'),
      clock,
    });
    await pause(clock, RELIST_MS, signal);
    await loop.run(signal);
  }

  /** One list for all pods. A worker lists its own pod only if the pod has changed in the engine meanwhile. */
  async #relist(signal: AbortSignal): Promise<void> {
    const { runtime, owner, pods } = this.#services;
    const list = ++this.#lists;
    const epochs = new Map([...this.#workers.values()].map((worker) => [worker, worker.epoch]));
    const listed = await runtime.observer.listPods(owner, signal);
    const states = new Map(listed.map((state) => [state.identity.uid, state]));
    for (const uid of states.keys()) this.#reported.set(uid, list);
    for (const [uid, reportedAt] of this.#reported) if (reportedAt < list) this.#reported.delete(uid);
    const known = pods.list().map(({ metadata }) => metadata.uid ?? '');
    for (const uid of new Set([...this.#workers.keys(), ...known, ...states.keys()])) {
      const worker = this.#workers.get(uid);
      const epoch = worker === undefined ? undefined : epochs.get(worker);
      if (worker === undefined || epoch === undefined) this.#notify(uid, signal);
      else if (pods.knows(uid)) worker.relisted(states.get(uid), epoch);
    }
    await this.#sweepGroups(new Set([...known, ...states.keys()]));
  }

  /** Removes control groups left by an agent that was killed before it created anything else of the pod. Never rejects. */
  async #sweepGroups(present: ReadonlySet<string>): Promise<void> {
    const { runtime, owner, logger } = this.#services;
    try {
      for (const uid of await runtime.podGroups.listPodGroups(owner)) {
        if (!present.has(uid) && !this.#workers.has(uid)) await runtime.podGroups.removePodGroup({ owner, uid });
      }
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'cannot remove control groups without a pod');
    }
  }
}
