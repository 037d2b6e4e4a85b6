import { type Clock, errorMessage, raceAbort, withDeadline } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { PodUsage } from '../spec/local-storage.ts';
import type { Candidate } from './rank.ts';
import type { StorageEvictor } from './storage-evictor.ts';

/** For all pods together: the node's memory is not looked at in the meantime. */
const COUNT_MS = 8_000;
/** After it, for handing over what was counted. */
const LEAVE_MS = 1_000;

export interface DiskSurveyOptions {
  readonly storage: Pick<StorageEvictor, 'count'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Times {
  /** A count ends here with what it has. */
  readonly until: AbortSignal;
  /** A count that has not ended here is left. */
  readonly end: AbortSignal;
  readonly signal: AbortSignal;
}

/**
 * Counts what pods have written, all at once and within a bounded time, whatever one of them does: of a pod with very many files there
 * is what was counted by then, and not less than the last time.
 */
export class DiskSurvey {
  readonly #options: DiskSurveyOptions;
  /** By uid of the pod. */
  #known: ReadonlyMap<string, PodUsage> = new Map();

  constructor(options: DiskSurveyOptions) {
    this.#options = options;
  }

  /** In the order of the pods. One that could never be counted has no containers, as one that was not measured. */
  async candidates(pods: readonly Pod[], signal: AbortSignal): Promise<readonly Candidate[]> {
    const { clock } = this.#options;
    using until = withDeadline(clock, signal, COUNT_MS);
    using end = withDeadline(clock, signal, COUNT_MS + LEAVE_MS);
    const counted = await Promise.all(
      pods.map(async (pod) => ({ pod, usage: await this.#count(pod, { until, end, signal }) })),
    );
    signal.throwIfAborted();
    this.#known = new Map(
      counted.flatMap(({ pod, usage }) => (usage === undefined ? [] : [[pod.metadata.uid ?? '', usage]])),
    );
    return counted.map(({ pod, usage }) => candidateOf(pod, usage));
  }

  async #count(pod: Pod, { until, end, signal }: Times): Promise<PodUsage | undefined> {
    const { storage, logger } = this.#options;
    const { uid = '' } = pod.metadata;
    const before = this.#known.get(uid);
    try {
      const usage = await raceAbort(storage.count(pod, until), end);
      return until.aborted && before !== undefined ? atLeast(usage, before) : usage;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ pod: uid, reason: errorMessage(error) }, 'the storage of a pod could not be measured');
      return before;
    }
  }
}

/** Of an unfinished count and an earlier one, whatever is more. */
function atLeast(usage: PodUsage, before: PodUsage): PodUsage {
  return {
    emptyDirs: larger(usage.emptyDirs, before.emptyDirs),
    containers: larger(usage.containers, before.containers),
    files: Math.max(usage.files, before.files),
    inodes: Math.max(usage.inodes, before.inodes),
  };
}

function larger(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const names = [...one.keys(), ...other.keys()];
  return new Map(names.map((name) => [name, Math.max(one.get(name) ?? 0, other.get(name) ?? 0)]));
}

function candidateOf(pod: Pod, usage: PodUsage | undefined): Candidate {
  if (usage === undefined) return { pod, containers: [], volumeBytes: 0, inodes: 0 };
  const { containers, emptyDirs, files, inodes } = usage;
  return {
    pod,
    containers: [...containers].map(([name, storageBytes]) => ({ name, storageBytes })),
    volumeBytes: [...emptyDirs.values()].reduce((sum, bytes) => sum + bytes, files),
    inodes,
  };
}
