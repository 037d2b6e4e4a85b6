import { type Clock, ControlLoop, errorMessage, pause, raceAbort, withDeadline } from '@gantry/base';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { KubeObject, Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { HostShares } from '../node/host-shares.ts';
import type { ImageCollector } from '../images/image-collector.ts';
import type { NodePressure } from '../spec/node-pressure.ts';
import { isCriticalPod } from '../spec/critical-pod.ts';
import type { PodView } from '../sources/pod-source.ts';
import type { RunningPod, UsageSampler } from '../usage/usage-sampler.ts';
import { DiskSurvey } from './disk-survey.ts';
import type { Evictions } from './evictions.ts';
import type { HostTurns } from './host-turns.ts';
import { evictionMessage } from './message.ts';
import { NO_PRESSURE, planPressure, type PressureConfig, type PressureState } from './plan.ts';
import { type Candidate, compareRanks, rankOf } from './rank.ts';
import { type Observations, observe, SIGNALS, type StarvedResource } from './signals.ts';
import type { StorageEvictor } from './storage-evictor.ts';
import type { Threshold } from './thresholds.ts';
import { nodeReference } from '../spec/pod-names.ts';
import type { HostMeter } from '../runtime/stats.ts';

/** The kubelet's interval. */
const EVERY_MS = 10_000;
/** The shortest pause between two synchronisations, for one that took long. */
const LEAST_REST_MS = 1_000;
/** How long a synchronisation waits for the removal of images. The removal then continues in the background. */
const REMOVAL_MS = 2_000;
/** How long to wait for an evicted pod to end, and how often to check. */
const CLEANUP_MS = 30_000;
const CLEANUP_EVERY_MS = 1_000;
/** The grace period of a pod that is evicted for a hard threshold. */
const HARD_GRACE_SECONDS = 1;

export interface PressureManagerOptions extends PressureConfig {
  /** The longest grace period of a pod that is evicted for a soft threshold. */
  readonly maxPodGraceSeconds: number;
  readonly node: string;
  readonly meter: Pick<HostMeter, 'read'>;
  readonly shares: Pick<HostShares, 'count' | 'allocatable'>;
  readonly usage: Pick<UsageSampler, 'running'>;
  readonly storage: Pick<StorageEvictor, 'countUsage' | 'reclaimable'>;
  readonly images: Pick<ImageCollector, 'deleteUnused'>;
  readonly pods: Pick<PodView, 'get'>;
  readonly evictions: Evictions;
  readonly turns: Pick<HostTurns, 'isOurs'>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Keeps a node from running out of memory, disk and processes, like the kubelet's eviction manager: sets conditions, reclaims what no pod
 * needs, and evicts one pod at a time. Measures the host every ten seconds; does not query the engine unless something is short.
 */
export class PressureManager {
  readonly #options: PressureManagerOptions;
  readonly #about: KubeObject;
  readonly #survey: DiskSurvey;
  readonly #listeners = new Set<() => void>();
  /** The running removal of unused images; it may take minutes. */
  #removal: Promise<number> | undefined;
  #state: PressureState = NO_PRESSURE;

  constructor(options: PressureManagerOptions) {
    this.#options = options;
    this.#survey = new DiskSurvey(options);
    this.#about = nodeReference(options.node);
  }

  /** The pressure conditions of the Node. */
  pressures(): readonly NodePressure[] {
    return this.#state.pressures;
  }

  /** Calls the listener after each change of `pressures`. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Synchronises until `signal` is aborted. Failures are logged. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    await new ControlLoop({
      round: async () => {
        const startedMs = clock.monotonicMs();
        const evicted = await this.synchronize(signal);
        // The interval begins with the start of the synchronisation, because other agents of the host wait for this agent's turn.
        if (evicted === undefined) return Math.max(LEAST_REST_MS, startedMs + EVERY_MS - clock.monotonicMs());
        await this.#untilGone(evicted, signal);
        return EVERY_MS;
      },
      intervalMs: EVERY_MS,
      onError: (error) => logger.warn({ reason: errorMessage(error) }, 'cannot read node pressure'),
      clock,
    }).run(signal);
  }

  /** Synchronises once. Returns the uid of the evicted pod, if any. */
  async synchronize(signal: AbortSignal): Promise<string | undefined> {
    const { clock, logger, events } = this.#options;
    const observations = await this.#observe();
    const before = this.#state.pressures;
    this.#state = planPressure(this.#options, this.#state, observations, clock.monotonicMs());
    this.#report(before);
    const [threshold] = this.#state.due;
    if (threshold === undefined) return undefined;
    const { resource, pressure } = SIGNALS[threshold.signal];
    logger.warn({ signal: threshold.signal, ...observations.get(threshold.signal) }, 'the node is short of a resource');
    events.event(this.#about, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    // The effect of reclaiming is measured in the next synchronisation.
    if (pressure === 'DiskPressure' && (await this.#reclaim(signal))) return undefined;
    return await this.#evict(threshold, resource, observations, signal);
  }

  async #observe(): Promise<Observations> {
    const { meter, shares, usage } = this.#options;
    const memory = usage.running().flatMap(({ containers }) => containers.map(({ memoryBytes = 0 }) => memoryBytes));
    const podBytes = memory.reduce((sum, bytes) => sum + bytes, 0);
    const allocatableBytes = shares.allocatable().memoryBytes;
    return observe(await meter.read(), { shares: shares.count, allocatableBytes, podBytes });
  }

  /** Emits the kubelet's Events about the conditions of a node. */
  #report(before: readonly NodePressure[]): void {
    const { pressures } = this.#state;
    const changed = (Object.keys(CHANGES) as NodePressure[]).filter(
      (pressure) => before.includes(pressure) !== pressures.includes(pressure),
    );
    for (const pressure of changed) {
      const { node, events } = this.#options;
      const reason = CHANGES[pressure][pressures.includes(pressure) ? 'begins' : 'ends'];
      events.event(this.#about, 'Normal', reason, `Node ${node} status is now: ${reason}`);
    }
    if (changed.length > 0) for (const listener of this.#listeners) listener();
  }

  /** Removes containers of ended pods and unused images. Returns whether there were any. */
  async #reclaim(signal: AbortSignal): Promise<boolean> {
    const { storage, evictions, clock } = this.#options;
    const uids = storage.reclaimable();
    for (const uid of uids) evictions.reclaim(uid);
    using deadline = withDeadline(clock, signal, REMOVAL_MS);
    this.#removal ??= this.#removeImages(signal).finally(() => {
      this.#removal = undefined;
    });
    try {
      return (await raceAbort(this.#removal, deadline)) > 0 || uids.length > 0;
    } catch {
      // The removal still runs; a later synchronisation sees the effect.
      signal.throwIfAborted();
      return true;
    }
  }

  /** Returns the number of freed bytes. */
  async #removeImages(signal: AbortSignal): Promise<number> {
    try {
      return await this.#options.images.deleteUnused(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.warn({ reason: errorMessage(error) }, 'cannot remove unused images');
      return 0;
    }
  }

  async #evict(
    threshold: Threshold,
    resource: StarvedResource,
    observations: Observations,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { evictions, turns, shares, maxPodGraceSeconds, logger } = this.#options;
    const candidates = await this.#candidates(SIGNALS[threshold.signal].pressure, signal);
    const ranked = candidates
      .map((candidate) => ({ candidate, rank: rankOf(candidate, resource) }))
      .toSorted((one, other) => compareRanks(one.rank, other.rank));
    const [first] = ranked;
    if (first === undefined) {
      logger.warn({ resource }, 'no pod of this node can be evicted');
      return undefined;
    }
    const isShared = SIGNALS[threshold.signal].of === 'host' && shares.count > 1;
    if (isShared && !(await turns.isOurs(first.rank))) return undefined;
    const { pod } = first.candidate;
    const own = pod.spec?.terminationGracePeriodSeconds ?? maxPodGraceSeconds;
    const graceSeconds = threshold.graceMs === 0 ? HARD_GRACE_SECONDS : Math.min(maxPodGraceSeconds, own);
    const message = evictionMessage(resource, first.candidate, this.#state.due, observations);
    evictions.evict(pod, { message, graceSeconds, cause: 'node-pressure' });
    return pod.metadata.uid ?? '';
  }

  /** Running pods, except those that are never evicted and those that are being deleted or evicted already. */
  async #candidates(pressure: NodePressure, signal: AbortSignal): Promise<readonly Candidate[]> {
    const { usage, pods, evictions } = this.#options;
    const running = usage.running().flatMap((found) => {
      const pod = pods.get(found.uid);
      const isLeaving = pod?.metadata.deletionTimestamp !== undefined || evictions.evictionOf(found.uid) !== undefined;
      return pod === undefined || isLeaving || isCriticalPod(pod) ? [] : [{ pod, found }];
    });
    if (pressure !== 'DiskPressure') return running.map(({ pod, found }) => withUse(pod, found));
    return await this.#survey.candidates(
      running.map(({ pod }) => pod),
      signal,
    );
  }

  async #untilGone(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, usage } = this.#options;
    const until = clock.monotonicMs() + CLEANUP_MS;
    while (!signal.aborted && clock.monotonicMs() < until) {
      if (usage.running().every((pod) => pod.uid !== uid)) return;
      await pause(clock, CLEANUP_EVERY_MS, signal);
    }
  }
}

const CHANGES: Readonly<Record<NodePressure, { readonly begins: string; readonly ends: string }>> = {
  MemoryPressure: { begins: 'NodeHasInsufficientMemory', ends: 'NodeHasSufficientMemory' },
  DiskPressure: { begins: 'NodeHasDiskPressure', ends: 'NodeHasNoDiskPressure' },
  PIDPressure: { begins: 'NodeHasInsufficientPID', ends: 'NodeHasSufficientPID' },
};

/** Omits containers that have not been measured yet. */
function withUse(pod: Pod, { containers }: RunningPod): Candidate {
  return {
    pod,
    containers: containers.filter(({ memoryBytes }) => memoryBytes !== undefined),
    volumeBytes: 0,
    inodes: 0,
  };
}
