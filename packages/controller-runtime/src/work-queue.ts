import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, type Random } from '@gantry/base';
import { backoffAfter } from '@gantry/client';
import type { QueueMeter } from './queue-meter.ts';
import { formatReconcileKey, type ReconcileKey } from './reconcile-key.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Delays after failures; 20 ms doubling to 30 s when absent. */
  readonly backoff?: BackoffOptions;
  /** Measures the queue; nothing is measured when absent. */
  readonly meter?: QueueMeter;
  /** To whose share a key counts; its namespace when absent. */
  readonly share?: (key: ReconcileKey) => string;
  /** The most keys of one share that callers hold at a time; no limit when absent. */
  readonly mostOfShare?: number;
}

interface Entry {
  readonly key: ReconcileKey;
  /** `clean`: in work and not added again. `dirty`: in work and added again, so it will be queued once more. */
  state: 'waiting' | 'clean' | 'dirty';
  /** When the key was last added (monotonic): for a key in work, the time at which it was added again. */
  addedMs: number;
  /** While a caller holds the key: the share that it counts to. */
  heldOf: string | undefined;
}

/** A caller that waits for a key. */
interface Taker {
  readonly give: (entry: Entry) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: AbortSignal;
}

const DEFAULT_BACKOFF: BackoffOptions = { initialMs: 20, maxMs: 30_000 };

/**
 * Keys that wait for a reconcile. The queue holds each key once, however often it is added. A key is never given to two callers at a time:
 * if it is added while in work, it is queued again when that work is done. A key is given out after the turn of the event loop in which it
 * was added, even to a caller that waits, so that changes in one turn cause one reconcile. Shares are served in turn, and one share cannot
 * hold all callers, so that neither many keys nor slow ones of one share delay those of the others.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #entries = new Map<string, Entry>();
  /** Keys that can be taken, by share. */
  readonly #lanes = new Map<string, Entry[]>();
  /** How many keys of a share callers hold. */
  readonly #held = new Map<string, number>();
  readonly #delayed = new Map<string, { dueMs: number; cancel: CancelTimer }>();
  readonly #failures = new Map<string, number>();
  readonly #signals = new WeakSet<AbortSignal>();
  #takers: Taker[] = [];
  /** Keys added in the current turn of the event loop. */
  #added: Entry[] = [];
  #length = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** The number of keys that wait, without those in work. */
  get length(): number {
    return this.#length;
  }

  add(key: ReconcileKey): void {
    const id = formatReconcileKey(key);
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.state !== 'clean') return;
    const { clock, meter } = this.#options;
    const addedMs = clock.monotonicMs();
    meter?.added();
    if (entry === undefined) this.#enqueue(id, { key, state: 'waiting', addedMs, heldOf: undefined });
    else {
      entry.state = 'dirty';
      entry.addedMs = addedMs;
    }
  }

  /** Adds a key after a delay. If the key has several delays, the shortest counts. */
  addAfter(key: ReconcileKey, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const id = formatReconcileKey(key);
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    const known = this.#delayed.get(id);
    if (known !== undefined) {
      if (known.dueMs <= dueMs) return;
      known.cancel();
    }
    const cancel = this.#options.clock.setTimer(delayMs, () => {
      this.#delayed.delete(id);
      this.add(key);
    });
    this.#delayed.set(id, { dueMs, cancel });
  }

  /** Adds a key after a delay that grows with every call until `forget`. Returns that delay in milliseconds. `error`: see `backoffAfter`. */
  addRateLimited(key: ReconcileKey, error?: unknown): number {
    const id = formatReconcileKey(key);
    this.#options.meter?.retried();
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const { backoff = DEFAULT_BACKOFF, random } = this.#options;
    const delayMs = backoffMs(backoffAfter(error, backoff), failures, random);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** Resets the back-off of a key: its next failure gets the shortest delay. */
  forget(key: ReconcileKey): void {
    this.#failures.delete(formatReconcileKey(key));
  }

  /** The next key; the caller must call `done` with it, and may call `release` before. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<ReconcileKey> {
    signal.throwIfAborted();
    const entry = this.#dequeue() ?? (await this.#wait(signal));
    return entry.key;
  }

  /** The caller takes other keys from now on, although the work on this one has not ended. */
  release(key: ReconcileKey): void {
    const entry = this.#entries.get(formatReconcileKey(key));
    if (entry !== undefined) this.#release(entry);
  }

  /** Whether the key was added again while in work. */
  isDirty(key: ReconcileKey): boolean {
    return this.#entries.get(formatReconcileKey(key))?.state === 'dirty';
  }

  /** Ends the work on a key. If it was added again meanwhile, it is queued again. */
  done(key: ReconcileKey): void {
    const id = formatReconcileKey(key);
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.state === 'waiting') return;
    this.#entries.delete(id);
    this.#release(entry);
    const { clock, meter } = this.#options;
    meter?.done(id, clock.monotonicMs());
    const { state, addedMs } = entry;
    if (state === 'dirty') this.#enqueue(id, { key, state: 'waiting', addedMs, heldOf: undefined });
  }

  /** Removes all waiting and delayed keys and all back-off. */
  clear(): void {
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#failures.clear();
    for (const lane of [this.#added, ...this.#lanes.values()]) {
      for (const { key } of lane) this.#entries.delete(formatReconcileKey(key));
    }
    this.#added = [];
    this.#lanes.clear();
    this.#resize(-this.#length);
    for (const entry of this.#entries.values()) entry.state = 'clean';
  }

  #enqueue(id: string, entry: Entry): void {
    this.#entries.set(id, entry);
    if (this.#added.length === 0) setImmediate(() => this.#endTurn());
    this.#added.push(entry);
    this.#resize(1);
  }

  /** Makes the keys of this turn available, first to callers that wait. */
  #endTurn(): void {
    const { share = ({ namespace }) => namespace } = this.#options;
    for (const entry of this.#added) {
      const of = share(entry.key);
      const lane = this.#lanes.get(of);
      if (lane === undefined) this.#lanes.set(of, [entry]);
      else lane.push(entry);
    }
    this.#added = [];
    this.#serve();
  }

  /** Gives keys to callers that wait. */
  #serve(): void {
    while (this.#takers.length > 0) {
      const entry = this.#dequeue();
      if (entry === undefined) return;
      this.#takers.shift()?.give(entry);
    }
  }

  /** Takes the next key that may be given out, and marks it as in work at once, before it can be added again. */
  #dequeue(): Entry | undefined {
    const { mostOfShare = Infinity } = this.#options;
    for (const [share, lane] of this.#lanes) {
      const held = this.#held.get(share) ?? 0;
      if (held >= mostOfShare) continue;
      const entry = lane.shift();
      // Maps keep insertion order: a share that is set again moves behind the others.
      this.#lanes.delete(share);
      if (lane.length > 0) this.#lanes.set(share, lane);
      if (entry === undefined) continue;
      this.#held.set(share, held + 1);
      this.#begin(entry, share);
      return entry;
    }
    return undefined;
  }

  #begin(entry: Entry, share: string): void {
    const { clock, meter } = this.#options;
    entry.state = 'clean';
    entry.heldOf = share;
    this.#resize(-1);
    meter?.taken(formatReconcileKey(entry.key), entry.addedMs, clock.monotonicMs());
  }

  #release(entry: Entry): void {
    const { heldOf: share } = entry;
    if (share === undefined) return;
    entry.heldOf = undefined;
    const held = (this.#held.get(share) ?? 1) - 1;
    if (held === 0) this.#held.delete(share);
    else this.#held.set(share, held);
    this.#serve();
  }

  #resize(by: number): void {
    this.#length += by;
    this.#options.meter?.waiting(this.#length);
  }

  #wait(signal: AbortSignal): Promise<Entry> {
    this.#rejectAtAbort(signal);
    return new Promise((resolve, reject) => {
      this.#takers.push({ give: resolve, reject, signal });
    });
  }

  /** One listener per signal: keys are taken much more often than signals are aborted. */
  #rejectAtAbort(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    const onAbort = () => {
      const ended = this.#takers.filter((taker) => taker.signal === signal);
      this.#takers = this.#takers.filter((taker) => taker.signal !== signal);
      for (const { reject } of ended) reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  }
}
