import { type Clock, errorMessage, type Instant, pause } from '@gantry/base';
import { hasEnded, type Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { DiskUsage, HostFiles } from '../runtime/host-files.ts';
import type { PodState } from '../runtime/observer.ts';
import type { ContainerFolders, StatsRuntime } from '../runtime/stats.ts';
import type { PodView } from '../sources/pod-source.ts';
import { limitsStorage, type PodStorage, type PodUsage, storageExcess } from '../spec/local-storage.ts';
import { isCriticalPod } from '../spec/critical-pod.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { Evictions } from './evictions.ts';

/** The kubelet's interval. */
const EVERY_MS = 10_000;
/** Measuring takes at most 1/SHARE of the time, for all pods together and for each slow pod. */
const SHARE = 20;
/** A pod that takes longer to measure is slow. A pod with very many files must not delay the measurement of others. */
const SLOW_MS = 500;
/** The number of a pod's containers that are counted in parallel. */
const MAX_PARALLEL = 3;
/** The grace period of a pod that is evicted for exceeding its limit, as in the kubelet. */
const GRACE_SECONDS = 1;

export interface StorageEvictorOptions {
  readonly pods: Pick<PodView, 'list' | 'get'>;
  readonly stats: Pick<StatsRuntime, 'findFolders' | 'readStorage'>;
  readonly volumes: Pick<PodVolumes, 'diskUsage'>;
  readonly hostFiles: Pick<HostFiles, 'usageOf'>;
  readonly evictions: Evictions;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The storage usage of a pod at its last measurement. */
export interface MeasuredStorage {
  readonly at: Instant;
  readonly storage: PodStorage;
  /** The parts of the containers' bytes, by container name. */
  readonly parts: ReadonlyMap<string, { readonly layerBytes: number; readonly logBytes: number }>;
}

/** Evicts pods that exceed their ephemeral storage limits. Pods without such limits are not measured. */
export class StorageEvictor {
  readonly #options: StorageEvictorOptions;
  /** By pod uid: the ids of its containers by name. */
  readonly #containers = new Map<string, ReadonlyMap<string, string>>();
  /** By pod uid: when a slow pod is measured again. */
  readonly #nextMs = new Map<string, number>();
  readonly #measured = new Map<string, MeasuredStorage>();

  constructor(options: StorageEvictorOptions) {
    this.#options = options;
  }

  /** Records the existing containers of a pod. */
  observe(podUid: string, state: PodState | undefined): void {
    // The newest attempts come first in `state`; reversed, they overwrite older ones.
    const ids = (state?.containers ?? []).toReversed().map(({ name, id }) => [name, id] as const);
    this.#containers.set(podUid, new Map(ids));
  }

  /** Call it when the pod has no worker any more. */
  forget(podUid: string): void {
    this.#containers.delete(podUid);
    this.#nextMs.delete(podUid);
    this.#measured.delete(podUid);
  }

  /** The latest measurement of a pod with a storage limit; undefined for other pods, and before the first measurement. */
  storageOf(podUid: string): MeasuredStorage | undefined {
    return this.#measured.get(podUid);
  }

  /** Uids of the pods that have ended and still have containers. */
  reclaimable(): readonly string[] {
    const { pods, evictions } = this.#options;
    return [...this.#containers].flatMap(([uid, ids]) => {
      return hasEnded(pods.get(uid)) && ids.size > 0 && !evictions.isReclaimed(uid) ? [uid] : [];
    });
  }

  /** Measures at intervals until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const tookMs = await this.check(signal);
      await pause(clock, Math.max(EVERY_MS, SHARE * tookMs), signal);
    }
  }

  /** Measures each pod with a storage limit once. Returns the time taken in milliseconds; each pod counts at most SLOW_MS. */
  async check(signal: AbortSignal): Promise<number> {
    const { pods, evictions, clock, logger } = this.#options;
    let totalMs = 0;
    for (const pod of pods.list().filter((candidate) => this.#mayEvict(candidate))) {
      const { uid = '' } = pod.metadata;
      const startedMs = clock.monotonicMs();
      if (startedMs < (this.#nextMs.get(uid) ?? startedMs)) continue;
      try {
        const excess = storageExcess(pod, await this.measureBytes(pod, signal));
        if (excess !== undefined && pods.get(uid) !== undefined) {
          evictions.evict(pod, { message: excess, graceSeconds: GRACE_SECONDS, cause: 'own-limit' });
        }
      } catch (error) {
        if (signal.aborted) return totalMs;
        logger.warn({ pod: uid, reason: errorMessage(error) }, 'cannot measure the storage of a pod');
      }
      const endedMs = clock.monotonicMs();
      const tookMs = endedMs - startedMs;
      totalMs += Math.min(tookMs, SLOW_MS);
      if (tookMs > SLOW_MS) this.#nextMs.set(uid, endedMs + SHARE * tookMs);
    }
    return totalMs;
  }

  #mayEvict(pod: Pod): boolean {
    const { metadata } = pod;
    const isOver = hasEnded(pod) || metadata.deletionTimestamp !== undefined;
    if (isOver || isCriticalPod(pod) || !limitsStorage(pod)) return false;
    return this.#options.evictions.evictionOf(metadata.uid ?? '') === undefined;
  }

  /** The bytes that a pod has written to disk. The engine reads the disk to measure them. */
  async measureBytes(pod: Pod, signal: AbortSignal): Promise<PodStorage> {
    const { stats, volumes, hostFiles, clock } = this.#options;
    const ids = this.#idsOf(pod);
    const found = await stats.readStorage([...ids.values()], signal);
    const parts = new Map<string, { readonly layerBytes: number; readonly logBytes: number }>();
    for (const [name, id] of ids) {
      const storage = found.get(id);
      if (storage === undefined) continue;
      const logs = storage.logFolder === undefined ? 0 : (await hostFiles.usageOf(storage.logFolder, signal)).bytes;
      parts.set(name, { layerBytes: storage.writableBytes, logBytes: logs });
    }
    const containers = new Map([...parts].map(([name, { layerBytes, logBytes }]) => [name, layerBytes + logBytes]));
    const storage = { ...(await volumes.diskUsage(pod, signal)), containers };
    const { uid = '' } = pod.metadata;
    if (this.#containers.has(uid)) this.#measured.set(uid, { at: clock.now(), storage, parts });
    return storage;
  }

  /**
   * Counts what a pod has written, including inodes, without a disk scan by the engine. If `until` is aborted, returns what was counted
   * so far.
   */
  async countUsage(pod: Pod, until: AbortSignal): Promise<PodUsage> {
    const { stats, volumes } = this.#options;
    const ids = this.#idsOf(pod);
    const folders = await stats.findFolders([...ids.values()], until);
    const existing = [...ids].flatMap(([name, id]) => {
      const found = folders.get(id);
      return found === undefined ? [] : [{ name, id, found }];
    });
    const containers = new Map<string, number>();
    let inodes = 0;
    const [own] = await Promise.all([
      volumes.diskUsage(pod, until),
      // Limited, because each count holds folders open.
      fewAtOnce(existing, MAX_PARALLEL, async ({ name, id, found }) => {
        const used = await this.#countContainer(id, found, until);
        containers.set(name, used.bytes);
        inodes += used.inodes;
      }),
    ]);
    return { ...own, containers, inodes: own.inodes + inodes };
  }

  async #countContainer(
    id: string,
    { layerFolder, logFolder }: ContainerFolders,
    until: AbortSignal,
  ): Promise<DiskUsage> {
    const { stats, hostFiles } = this.#options;
    const logs = logFolder === undefined ? { bytes: 0, inodes: 0 } : await hostFiles.usageOf(logFolder, until);
    if (layerFolder !== undefined) {
      const layer = await hostFiles.usageOf(layerFolder, until);
      return { bytes: logs.bytes + layer.bytes, inodes: logs.inodes + layer.inodes };
    }
    // The engine does not report the number of inodes.
    const { writableBytes = 0 } = (await stats.readStorage([id], until)).get(id) ?? {};
    return { bytes: logs.bytes + writableBytes, inodes: logs.inodes };
  }

  #idsOf({ metadata }: Pod): ReadonlyMap<string, string> {
    return this.#containers.get(metadata.uid ?? '') ?? new Map<string, string>();
  }
}

/** Processes the items in order, at most `most` in parallel. Rejects with the first failure, and starts no other item after it. */
export async function fewAtOnce<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const workOn = async () => {
    try {
      while (next < items.length) {
        const item = items[next++] as T;
        await work(item);
      }
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, workOn));
}
