import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, type Random } from '@gantry/base';
import type { QueueMeter } from './queue-meter.ts';
import { formatReconcileKey, type ReconcileKey } from './reconcile-key.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Delays after failures; 20 ms doubling to 30 s when absent. */
  readonly backoff?: BackoffOptions;
  /** Measures the queue; nothing is measured when absent. */
  readonly meter?: QueueMeter;
}

interface Entry {
  readonly key: ReconcileKey;
  /** `clean` while it is worked on and unchanged, `dirty` when it must be looked at again after that. */
  state: 'waiting' | 'clean' | 'dirty';
  /** When it was added: while it is worked on, when it was added again. Monotonic. */
  addedMs: number;
}

/** A caller that waits for a key. */
interface Taker {
  readonly give: (entry: Entry) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: AbortSignal;
}

const DEFAULT_BACKOFF: BackoffOptions = { initialMs: 20, maxMs: 30_000 };

/**
 * Keys to look at. A key is in it once however often it is added, and is never given out twice at a time: added again while
 * it is worked on, it comes back when that is done. A key is given out after the turn of the event loop that added it, even to a
 * caller that waits: changes that come together cost one reconcile. Namespaces take turns, so that a busy one delays no other.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #entries = new Map<string, Entry>();
  /** What can be taken, by namespace. */
  readonly #lanes = new Map<string, Entry[]>();
  readonly #delayed = new Map<string, { dueMs: number; cancel: CancelTimer }>();
  readonly #failures = new Map<string, number>();
  readonly #signals = new WeakSet<AbortSignal>();
  #takers: Taker[] = [];
  /** What was added in the present turn of the event loop. */
  #added: Entry[] = [];
  #length = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Keys that wait, without those being worked on. */
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
    if (entry === undefined) this.#enqueue(id, { key, state: 'waiting', addedMs });
    else {
      entry.state = 'dirty';
      entry.addedMs = addedMs;
    }
  }

  /** Adds after a delay; of several delays of a key the soonest counts. */
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

  /** Adds after a delay that grows with every call until `forget`; returns that delay. */
  addRateLimited(key: ReconcileKey): number {
    const id = formatReconcileKey(key);
    this.#options.meter?.retried();
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const delayMs = backoffMs(this.#options.backoff ?? DEFAULT_BACKOFF, failures, this.#options.random);
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** The key works again: its next failure starts from the shortest delay. */
  forget(key: ReconcileKey): void {
    this.#failures.delete(formatReconcileKey(key));
  }

  /** The next key; the caller must call `done` with it. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<ReconcileKey> {
    signal.throwIfAborted();
    const entry = this.#dequeue();
    if (entry === undefined) return (await this.#wait(signal)).key;
    this.#begin(entry);
    return entry.key;
  }

  /** Whether the key was added again while it is worked on. */
  isDirty(key: ReconcileKey): boolean {
    return this.#entries.get(formatReconcileKey(key))?.state === 'dirty';
  }

  /** The key taken is worked off; when it was added meanwhile it waits again. */
  done(key: ReconcileKey): void {
    const id = formatReconcileKey(key);
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.state === 'waiting') return;
    this.#entries.delete(id);
    const { clock, meter } = this.#options;
    meter?.done(id, clock.monotonicMs());
    if (entry.state === 'dirty') this.#enqueue(id, { key, state: 'waiting', addedMs: entry.addedMs });
  }

  /** Forgets everything that waits or is delayed. */
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

  /** Lets what was added be taken, first by callers that wait. */
  #endTurn(): void {
    for (const entry of this.#added) {
      const lane = this.#lanes.get(entry.key.namespace);
      if (lane === undefined) this.#lanes.set(entry.key.namespace, [entry]);
      else lane.push(entry);
    }
    this.#added = [];
    for (const taker of this.#takers.splice(0, this.#length)) {
      const entry = this.#dequeue();
      if (entry !== undefined) taker.give(entry);
    }
  }

  #dequeue(): Entry | undefined {
    const next = this.#lanes.entries().next().value;
    if (next === undefined) return undefined;
    const [namespace, lane] = next;
    const entry = lane.shift();
    // Maps keep insertion order: a lane put in again goes behind the others.
    this.#lanes.delete(namespace);
    if (lane.length > 0) this.#lanes.set(namespace, lane);
    if (entry !== undefined) this.#resize(-1);
    return entry;
  }

  #begin(entry: Entry): void {
    const { clock, meter } = this.#options;
    entry.state = 'clean';
    meter?.taken(formatReconcileKey(entry.key), entry.addedMs, clock.monotonicMs());
  }

  #resize(by: number): void {
    this.#length += by;
    this.#options.meter?.waiting(this.#length);
  }

  #wait(signal: AbortSignal): Promise<Entry> {
    this.#rejectAtAbort(signal);
    return new Promise((resolve, reject) => {
      const give = (entry: Entry) => {
        // Taken at once, before it can be added again.
        this.#begin(entry);
        resolve(entry);
      };
      this.#takers.push({ give, reject, signal });
    });
  }

  /** One listener for each signal: keys are taken far more often than signals are aborted. */
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
