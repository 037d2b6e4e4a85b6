import type { Clock } from '@gantry/base';

/** Milliseconds per round of the event loop in which work may begin. */
const ROUND_MS = 10;
/** The maximum number of waiting items that begin in one round. */
const MAX_OF_ROUND = 64;

/** The source of work: an address, or a user once it is known. */
export type Source = `address:${string}` | `user:${string}`;
type SourceKind = 'address' | 'user';

/** Limits of waiting work. */
export interface WaitingLimits {
  /** Per source. */
  readonly ofSource: number;
  /** In total. A source without waiting work may add one item beyond it, so that a flood from others does not block it. */
  readonly total: number;
  /** The number of users, and of addresses, with their own queue. Further ones of the same kind share a queue. */
  readonly sources: number;
}

const LIMITS: WaitingLimits = { ofSource: 5000, total: 20_000, sources: 1000 };

/** Work was rejected because too much is waiting. */
export class CrowdError extends Error {
  override readonly name = 'CrowdError';
}

/** Created once: a stack trace per rejection would cost more than the rejection. */
const CROWDED = new CrowdError('Too many requests, please try again later.');

/**
 * Limits the work that begins in one round of the event loop, so that a flood of small requests stalls it no longer than one large request
 * does. Work without time left waits for a later round. Sources take turns, and each source keeps its own order, so a flood from one source
 * delays another source by one item per turn. While nothing waits, starting work costs only a look at the clock.
 */
export class Starts {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #waiting: FairQueue;
  #endsAt = 0;
  #isRoundOpen = false;
  #isScheduled = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>, limits: WaitingLimits = LIMITS) {
    this.#clock = clock;
    this.#waiting = new FairQueue(limits);
  }

  /** Runs `begin` at once or in a later round. Returns false when it is rejected because too much is waiting. */
  run(source: Source, begin: () => void): boolean {
    if (this.#waiting.size === 0 && this.#hasTime()) {
      begin();
      return true;
    }
    if (!this.#waiting.push(source, begin)) return false;
    this.#schedule();
    return true;
  }

  /**
   * Undefined if the round has time left; otherwise a promise that resolves in a round that has. Rejects with CrowdError when too much is
   * waiting.
   */
  next(source: Source): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#hasTime()) return undefined;
    return new Promise((resolve, reject) => {
      if (!this.run(source, resolve)) reject(CROWDED);
    });
  }

  #hasTime(): boolean {
    if (!this.#isRoundOpen) {
      this.#isRoundOpen = true;
      this.#endsAt = this.#clock.monotonicMs() + ROUND_MS;
      setImmediate(() => {
        this.#isRoundOpen = false;
      });
    }
    return this.#clock.monotonicMs() < this.#endsAt;
  }

  /**
   * Schedules one callback per waiting item in the next round. The microtasks of an item end before the next callback, so their time
   * counts.
   */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const callbacks = Math.min(this.#waiting.size, MAX_OF_ROUND);
    let endsAt = Infinity;
    setImmediate(() => {
      endsAt = this.#clock.monotonicMs() + ROUND_MS;
    });
    for (let i = 0; i < callbacks; i++) {
      setImmediate(() => {
        if (this.#clock.monotonicMs() < endsAt) this.#waiting.shift()?.();
      });
    }
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}

/** The waiting work of one source. */
interface SourceQueue {
  readonly id: string;
  readonly kind: SourceKind;
  readonly begins: Fifo<() => void>;
}

/**
 * Takes work from each source in turn. Users and addresses alternate, so that a flood from many addresses (one client may have many) takes
 * at most every second turn from users.
 */
class FairQueue {
  readonly #limits: WaitingLimits;
  readonly #queues = new Map<string, SourceQueue>();
  readonly #counts: Record<SourceKind, number> = { address: 0, user: 0 };
  /** Sources with waiting work, the next one first. */
  readonly #turns: Readonly<Record<SourceKind, Fifo<SourceQueue>>> = { address: new Fifo(), user: new Fifo() };
  #next: SourceKind = 'user';
  #size = 0;

  constructor(limits: WaitingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns false when a limit is reached. */
  push(source: Source, begin: () => void): boolean {
    const kind: SourceKind = source.startsWith('user:') ? 'user' : 'address';
    const { ofSource, total, sources } = this.#limits;
    const isKnown = this.#queues.has(source);
    const id = isKnown || this.#counts[kind] < sources ? source : kind;
    const queue = this.#queues.get(id);
    if (queue !== undefined && (queue.begins.size >= ofSource || this.#size >= total)) return false;
    this.#size++;
    if (queue === undefined) this.#open({ id, kind, begins: new Fifo() }).begins.push(begin);
    else queue.begins.push(begin);
    return true;
  }

  shift(): (() => void) | undefined {
    const first = this.#next;
    this.#next = first === 'user' ? 'address' : 'user';
    const queue = this.#turns[first].shift() ?? this.#turns[this.#next].shift();
    const begin = queue?.begins.shift();
    if (queue === undefined || begin === undefined) return undefined;
    this.#size--;
    if (queue.begins.size > 0) this.#turns[queue.kind].push(queue);
    else this.#close(queue);
    return begin;
  }

  #open(queue: SourceQueue): SourceQueue {
    this.#queues.set(queue.id, queue);
    this.#turns[queue.kind].push(queue);
    this.#counts[queue.kind]++;
    return queue;
  }

  #close({ id, kind }: SourceQueue): void {
    this.#queues.delete(id);
    this.#counts[kind]--;
  }
}

interface Link<T> {
  readonly value: T;
  next: Link<T> | undefined;
}

/** A FIFO queue with constant time per operation. */
class Fifo<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(value: T): void {
    const link: Link<T> = { value, next: undefined };
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size++;
  }

  shift(): T | undefined {
    const first = this.#first;
    if (first === undefined) return undefined;
    this.#first = first.next;
    if (first.next === undefined) this.#last = undefined;
    this.#size--;
    return first.value;
  }
}
