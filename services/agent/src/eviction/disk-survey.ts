import { type Clock, errorMessage, raceAbort, withDeadline } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { PodUsage } from '../spec/local-storage.ts';
import type { Candidate } from './rank.ts';
import { fewAtOnce, type StorageEvictor } from './storage-evictor.ts';

/** For all pods together: the node's memory is not looked at in the meantime. */
const COUNT_MS = 8_000;
/** After a turn, for handing over what was counted. */
const LEAVE_MS = 1_000;
/** Each holds open up to 128 folders of each of its walks, each with two descriptors. */
const MAX_PARALLEL = 4;
/** A pod's first turn. One that has not ended in its turn has twice the time in the next one, up to the longest. */
const TURN_MS = 2_000;
const LONGEST_TURN_MS = 4_000;

/** Who counts what a pod has written, and the clock that ends it. */
export interface DiskSurveyOptions {
  readonly storage: Pick<StorageEvictor, 'countUsage'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Times {
  /** A look's counts end here with what they have. */
  readonly until: AbortSignal;
  /** A count that still runs then is abandoned. */
  readonly end: AbortSignal;
  readonly signal: AbortSignal;
}

/** What is known of a pod, and when it is counted again. */
interface Account {
  usage: PodUsage | undefined;
  count: Candidate['count'];
  /** Counted from the first pod on that had one. 0 for a pod that has had none. */
  turn: number;
  turnMs: number;
  /** Whether a count that was left goes on: no second one is begun beside it. */
  state: 'idle' | 'counting';
}

/**
 * Counts what pods have written, a few pods at once and within a bounded time, whatever one of them does: in turns, and those whose last turn
 * is the longest ago come first. Of a pod with very many files there is what was counted in its turn, and not less than the last time.
 */
export class DiskSurvey {
  readonly #options: DiskSurveyOptions;
  /** By uid of the pod. */
  #accounts = new Map<string, Account>();
  #turns = 0;

  constructor(options: DiskSurveyOptions) {
    this.#options = options;
  }

  /** In the order of the pods. The count of one that has never been counted is missing. */
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

  /** A turn that the look's end has cut does not count as one: the pod is among the first of the next look. */
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
