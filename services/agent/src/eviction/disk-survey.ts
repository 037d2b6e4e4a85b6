import { type Clock, errorMessage, raceAbort, withDeadline } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { PodUsage } from '../spec/local-storage.ts';
import type { Candidate } from './rank.ts';
import { fewAtOnce, type StorageEvictor } from './storage-evictor.ts';

/** The time limit of a survey of all pods. The node's memory is not checked meanwhile. */
const COUNT_MS = 8_000;
/** Extra time after a turn to return what was counted. */
const LEAVE_MS = 1_000;
/** Pods counted in parallel. Each of their walks holds up to 128 folders open, with two descriptors each. */
const MAX_PARALLEL = 4;
/** The time limit of a pod's first turn. After an unfinished turn, the next one is twice as long, up to the longest. */
const TURN_MS = 2_000;
const LONGEST_TURN_MS = 4_000;

/** Dependencies: the counter of a pod's disk usage, and the clock for its deadlines. */
export interface DiskSurveyOptions {
  readonly storage: Pick<StorageEvictor, 'countUsage'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Times {
  /** Running counts stop at this point and return what they have. */
  readonly until: AbortSignal;
  /** Counts that still run at this point are abandoned. */
  readonly end: AbortSignal;
  readonly signal: AbortSignal;
}

/** The last known usage of a pod, and when it was last counted. */
interface Account {
  usage: PodUsage | undefined;
  count: Candidate['count'];
  /** The number of the pod's last turn, counted over all pods; 0 before its first turn. */
  turn: number;
  turnMs: number;
  /** Whether a count runs, perhaps an abandoned one. No second count is started beside it. */
  state: 'idle' | 'counting';
}

/**
 * Counts the disk usage of pods in bounded time: a few pods in parallel, each with its own time limit, the longest uncounted first. For a
 * pod with very many files, the result is what was counted in its turn, but not less than the last time.
 */
export class DiskSurvey {
  readonly #options: DiskSurveyOptions;
  /** By pod uid. */
  #accounts = new Map<string, Account>();
  #turns = 0;

  constructor(options: DiskSurveyOptions) {
    this.#options = options;
  }

  /** One candidate per pod, in the order of `pods`. The usage is missing for a pod that has never been counted. */
  async candidates(pods: readonly Pod[], signal: AbortSignal): Promise<readonly Candidate[]> {
    const { clock } = this.#options;
    const all = pods.map((pod) => ({ pod, account: this.#accounts.get(pod.metadata.uid ?? '') ?? newAccount() }));
    this.#accounts = new Map(all.map(({ pod, account }) => [pod.metadata.uid ?? '', account]));
    using until = withDeadline(clock, signal, COUNT_MS);
    using end = withDeadline(clock, signal, COUNT_MS + LEAVE_MS);
    const inTurn = all.toSorted((one, other) => one.account.turn - other.account.turn);
    await fewAtOnce(inTurn, MAX_PARALLEL, async ({ pod, account }) => {
      if (until.aborted || account.state === 'counting') return;
      await this.#takeTurn(pod, account, { until, end, signal });
    });
    signal.throwIfAborted();
    return all.map(({ pod, account }) => candidateOf(pod, account));
  }

  /** A turn that the end of the survey has cut short does not count: the pod is among the first in the next survey. */
  async #takeTurn(pod: Pod, account: Account, { until, end, signal }: Times): Promise<void> {
    const { clock, logger } = this.#options;
    const startedMs = clock.monotonicMs();
    const { turnMs } = account;
    using turnUntil = withDeadline(clock, until, turnMs);
    using turnEnd = withDeadline(clock, end, turnMs + LEAVE_MS);
    try {
      const usage = await raceAbort(this.#count(pod, account, turnUntil), turnEnd);
      const isUnfinished = turnUntil.aborted;
      account.usage = isUnfinished && account.usage !== undefined ? atLeast(usage, account.usage) : usage;
      account.count = isUnfinished ? 'unfinished' : undefined;
      account.turnMs = isUnfinished ? Math.min(2 * turnMs, LONGEST_TURN_MS) : TURN_MS;
    } catch (error) {
      signal.throwIfAborted();
      const { uid = '' } = pod.metadata;
      logger.warn({ pod: uid, reason: errorMessage(error) }, 'cannot measure the storage of a pod');
    }
    const isCut = until.aborted && clock.monotonicMs() - startedMs < turnMs;
    if (!isCut) account.turn = ++this.#turns;
  }

  async #count(pod: Pod, account: Account, until: AbortSignal): Promise<PodUsage> {
    account.state = 'counting';
    try {
      return await this.#options.storage.countUsage(pod, until);
    } finally {
      account.state = 'idle';
    }
  }
}

function newAccount(): Account {
  return { usage: undefined, count: 'missing', turn: 0, turnMs: TURN_MS, state: 'idle' };
}

/** The larger value of an unfinished count and an earlier one, field by field. */
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

function candidateOf(pod: Pod, { usage, count }: Account): Candidate {
  if (usage === undefined) return { pod, containers: [], volumeBytes: 0, inodes: 0, count: 'missing' };
  const { containers, emptyDirs, files, inodes } = usage;
  return {
    pod,
    containers: [...containers].map(([name, storageBytes]) => ({ name, storageBytes })),
    volumeBytes: [...emptyDirs.values()].reduce((sum, bytes) => sum + bytes, files),
    inodes,
    count,
  };
}
