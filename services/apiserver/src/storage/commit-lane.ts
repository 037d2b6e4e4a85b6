import { backoffMs, type Clock, errorMessage, type Random, sleep } from '@gantry/base';
import {
  EtcdError,
  isDefinite,
  type KeyValue,
  type KeyValueStore,
  type Operation,
  type Transaction,
  type TransactionResult,
} from '@gantry/etcd';
import {
  buildWrite,
  comparedKeys,
  type GuardOptions,
  type IdentifiedWrite,
  judge,
  outcomesOf,
  readResults,
  type WriteResult,
} from './group.ts';
import { StoreError, type WriteOutcome } from './object-store.ts';

export interface LaneOptions {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  /** The lane's key; only this lane writes it. */
  readonly key: string;
  /** Unique per lane object, and part of every sequence. Two processes of one name can thus not mistake each other's groups for theirs. */
  readonly owner: string;
  /** The etcd member that is used first. The lane uses the next member after each retry. */
  readonly member: number;
  readonly attemptTimeoutMs: number;
  readonly guard: GuardOptions;
  /** Whether transactions compare the lane's key. Only a test omits the compare, to prove that it is needed. */
  readonly laneCompare: 'compared' | 'left-out-by-test';
  readonly onRetry: (why: string) => void;
}

/** How a group ended. After an error other than 'outcome-unknown', nothing of the group was or will be written. */
export type GroupEnd =
  | { readonly kind: 'landed'; readonly outcomes: readonly WriteOutcome[] }
  | { readonly kind: 'failed'; readonly error: EtcdError };

type Settled =
  | { readonly kind: 'landed'; readonly revision: number; readonly result: TransactionResult | undefined }
  | { readonly kind: 'failed'; readonly error: EtcdError };

const RETRY = { initialMs: 20, maxMs: 500 };

/**
 * Commits groups of writes, one group after another. Each transaction compares the mod revision of the lane's key and puts its own
 * sequence there. After an unknown outcome the lane sends the identical transaction to another member, until it succeeds or the key
 * proves that an earlier copy has succeeded. A late copy fails its compare, since the key has changed. The lane starts no other group
 * before that.
 */
export class CommitLane {
  readonly #options: LaneOptions;
  #lastModRevision: number | undefined;
  #sequence = 0;
  #member: number;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#member = options.member;
  }

  /** Commits `writes` as one transaction. Callers make one call at a time. `signal` is that of the lane, not of a write. */
  async commit(writes: readonly IdentifiedWrite[], signal: AbortSignal): Promise<GroupEnd> {
    for (;;) {
      const opened = this.#lastModRevision ?? (await this.#open(signal));
      const end =
        opened instanceof EtcdError
          ? ({ kind: 'failed', error: opened } as const)
          : await this.#commitMarked(writes, (this.#lastModRevision = opened), signal);
      if (end === 'lane-lost') continue;
      if (end.kind === 'landed' || end.error.code !== 'no-space') return end;
      if (writes.some((item) => item.write.value !== null)) return end;
      const unmarked = await this.#commitUnmarked(writes, signal);
      if (unmarked !== 'lane-lost') return unmarked;
    }
  }

  async #commitMarked(
    writes: readonly IdentifiedWrite[],
    modRevision: number,
    signal: AbortSignal,
  ): Promise<GroupEnd | 'lane-lost'> {
    const sequence = this.#nextSequence();
    const settled = await this.#settle(this.#transaction(writes, modRevision, sequence, 'put'), sequence, signal);
    return settled === 'lane-lost' || settled.kind === 'failed' ? settled : this.#landed(writes, settled, signal);
  }

  /**
   * Deletes objects while etcd has no space. etcd rejects every put then, so the transaction omits the lane's sequence and deletion
   * records. The guards by mod revision make a late copy of a deletion harmless. An unknown outcome stays unknown.
   */
  async #commitUnmarked(writes: readonly IdentifiedWrite[], signal: AbortSignal): Promise<GroupEnd | 'lane-lost'> {
    // The lane's key does not exist if it could not be created, or was deleted by `#abandon`.
    const modRevision = this.#lastModRevision ?? 0;
    const transaction = this.#transaction(writes, modRevision, '', 'omitted');
    for (let failures = 1; ; failures++) {
      try {
        const result = await this.#send(transaction, signal);
        if (result.succeeded) {
          return { kind: 'landed', outcomes: this.#outcomes(writes, readResults(result.results), result.revision) };
        }
        // There is no other copy of this transaction, so nothing was written.
        this.#lastModRevision = undefined;
        return 'lane-lost';
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.code !== 'busy') return { kind: 'failed', error };
        await this.#pause(error, failures, signal);
      }
    }
  }

  #transaction(
    writes: readonly IdentifiedWrite[],
    modRevision: number,
    sequence: string,
    marker: 'put' | 'omitted',
  ): Transaction {
    const { key, guard, laneCompare } = this.#options;
    const options = { ...guard, deletionRecord: marker };
    const put: Operation = { kind: 'put', key, value: Buffer.from(sequence) };
    return {
      compare: laneCompare === 'compared' ? [{ key, target: 'mod-revision', equals: modRevision }] : [],
      success: [
        ...(marker === 'put' ? [put] : []),
        ...writes.map((item, index): Operation => ({ kind: 'transaction', ...buildWrite(item, index, options) })),
      ],
      failure: [{ kind: 'range', key }],
    };
  }

  /** Sends the transaction until it is known whether it has succeeded. */
  async #settle(transaction: Transaction, sequence: string, signal: AbortSignal): Promise<Settled | 'lane-lost'> {
    let failures = 0;
    let doubt: 'none' | 'may-have-landed' = 'none';
    for (;;) {
      try {
        const result = await this.#send(transaction, signal);
        if (result.succeeded) return { kind: 'landed', revision: result.revision, result };
        const lane = laneValueOf(result);
        if (lane !== undefined && text(lane) === sequence) {
          return { kind: 'landed', revision: lane.modRevision, result: undefined };
        }
        return this.#lost(doubt);
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (isDefinite(error) && error.code !== 'busy') {
          if (doubt === 'none') return { kind: 'failed', error };
          return this.#abandon(transaction, sequence, error, signal);
        }
        if (error.code !== 'busy') doubt = 'may-have-landed';
        await this.#pause(error, ++failures, signal);
      }
    }
  }

  /**
   * Changes the lane's key so that late copies of the transaction fail, or finds that the transaction has succeeded. If etcd has no space
   * for a put, it deletes the key instead. Mod revisions never recur, so a late copy fails in both cases.
   */
  async #abandon(
    transaction: Transaction,
    sequence: string,
    cause: EtcdError,
    signal: AbortSignal,
  ): Promise<Settled | 'lane-lost'> {
    const { key } = this.#options;
    const barrier = this.#nextSequence();
    let step: Operation = { kind: 'put', key, value: Buffer.from(barrier) };
    for (let failures = 1; ; failures++) {
      try {
        const move = { compare: transaction.compare, success: [step], failure: [{ kind: 'range', key }] } as const;
        const result = await this.#send(move, signal);
        const lane = result.succeeded ? undefined : laneValueOf(result);
        if (result.succeeded || (lane !== undefined && text(lane) === barrier)) {
          const moved = result.succeeded ? result.revision : lane?.modRevision;
          this.#lastModRevision = step.kind === 'delete' ? undefined : moved;
          return { kind: 'failed', error: cause };
        }
        if (lane !== undefined && text(lane) === sequence) {
          return { kind: 'landed', revision: lane.modRevision, result: undefined };
        }
        return this.#lost('may-have-landed');
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.code === 'no-space') step = { kind: 'delete', key };
        await this.#pause(error, failures, signal);
      }
    }
  }

  /**
   * The lane's key was deleted or replaced, since another process considered this process dead. Late copies fail, because mod revisions
   * never recur.
   */
  #lost(doubt: 'none' | 'may-have-landed'): Settled | 'lane-lost' {
    this.#lastModRevision = undefined;
    if (doubt === 'none') return 'lane-lost';
    return { kind: 'failed', error: new EtcdError('outcome-unknown', 'the commit lane was removed meanwhile') };
  }

  async #landed(
    writes: readonly IdentifiedWrite[],
    settled: Settled & { kind: 'landed' },
    signal: AbortSignal,
  ): Promise<GroupEnd> {
    this.#lastModRevision = settled.revision;
    const results =
      settled.result === undefined
        ? await this.#reconstruct(writes, settled.revision, signal)
        : readResults(settled.result.results);
    if (results === 'forgotten')
      return failedEnd('outcome-unknown', 'history was compacted before the answer was known');
    return { kind: 'landed', outcomes: this.#outcomes(writes, results, settled.revision) };
  }

  /** Reconstructs the lost response from the state that the guards compared: the state one revision earlier. */
  async #reconstruct(
    writes: readonly IdentifiedWrite[],
    revision: number,
    signal: AbortSignal,
  ): Promise<readonly WriteResult[] | 'forgotten'> {
    const keys = [...new Set(writes.flatMap((item) => comparedKeys(item.write)))];
    const reads = keys.map((key): Operation => ({ kind: 'range', key, revision: revision - 1 }));
    for (let failures = 1; ; failures++) {
      try {
        const result = await this.#send({ compare: [], success: reads, failure: [] }, signal);
        const before = result.results.flatMap((inner) => (inner.kind === 'range' ? inner.kvs : []));
        const at = new Map(before.map((kv) => [kv.key, kv]));
        return writes.map(({ write }) => {
          const own = comparedKeys(write).flatMap((key) => at.get(key) ?? []);
          return judge(write, own, this.#options.guard);
        });
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.code === 'compacted') return 'forgotten';
        await this.#pause(error, failures, signal);
      }
    }
  }

  /** Creates the lane's key or finds the existing one. Returns its mod revision, or the error 'no-space'. */
  async #open(signal: AbortSignal): Promise<number | EtcdError> {
    const { key, owner } = this.#options;
    const create: Transaction = {
      compare: [{ key, target: 'create-revision', equals: 0 }],
      success: [{ kind: 'put', key, value: Buffer.from(`${owner} open`) }],
      failure: [{ kind: 'range', key }],
    };
    for (let failures = 1; ; failures++) {
      try {
        const result = await this.#send(create, signal);
        if (result.succeeded) return result.revision;
        const lane = laneValueOf(result);
        // The key of an earlier attempt, or the one that existed when the lane was lost. The next group compares its mod revision.
        if (lane !== undefined) return lane.modRevision;
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.code === 'no-space') return error;
        if (isDefinite(error) && error.code !== 'busy') {
          throw new StoreError('unavailable', errorMessage(error), { cause: error });
        }
        await this.#pause(error, failures, signal);
      }
    }
  }

  #send(transaction: Transaction, signal: AbortSignal): Promise<TransactionResult> {
    const { kv, attemptTimeoutMs } = this.#options;
    return kv.transact(transaction, { signal, timeoutMs: attemptTimeoutMs, member: this.#member });
  }

  /** Waits before the next attempt, which uses the next member. */
  async #pause(error: EtcdError, failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random, onRetry, key } = this.#options;
    this.#member += 1;
    onRetry(`${key}: ${error.message}`);
    await sleep(clock, backoffMs(RETRY, failures, random), signal);
  }

  #outcomes(
    writes: readonly IdentifiedWrite[],
    results: readonly WriteResult[],
    revision: number,
  ): readonly WriteOutcome[] {
    const guarded = writes.map((item) => item.write);
    return outcomesOf(guarded, results, revision, this.#options.guard.sealing);
  }

  #nextSequence(): string {
    this.#sequence += 1;
    return `${this.#options.owner} ${this.#sequence}`;
  }
}

function failedEnd(code: EtcdError['code'], message: string): GroupEnd {
  return { kind: 'failed', error: new EtcdError(code, message) };
}

function laneValueOf(result: TransactionResult): KeyValue | undefined {
  const first = result.results[0];
  return first?.kind === 'range' ? first.kvs[0] : undefined;
}

function text(kv: KeyValue): string {
  return Buffer.from(kv.value).toString();
}
