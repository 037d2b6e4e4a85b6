import type { Clock } from '@gantry/base';

/** What may begin in one round of the event loop, in milliseconds of it. */
const ROUND_MS = 10;
/** The most that may begin in a round of what has waited. */
const MAX_OF_ROUND = 64;

/** Who begins something: an address, or a user from when it is known on. */
export type Source = `address:${string}` | `user:${string}`;
type SourceKind = 'address' | 'user';

/** How much may wait. */
export interface WaitingLimits {
  /** Of one source. */
  readonly ofSource: number;
  /** Of all. A source of which nothing waits may still add one, so that a crowd keeps none of the others out. */
  readonly total: number;
  /** Users and addresses with a queue of their own. Further ones of the kind share a queue. */
  readonly sources: number;
}

const LIMITS: WaitingLimits = { ofSource: 5000, total: 20_000, sources: 1000 };

/** Why something does not begin: too much waits already. */
export class CrowdError extends Error {
  override readonly name = 'CrowdError';
}

/** Made once: a stack trace for each would cost more than the refusal. */
const CROWDED = new CrowdError('Too many requests, please try again later.');

/**
 * Bounds what begins in one round of the event loop, so that a crowd of small requests stalls it no longer than one large request does.
 * What has no time left waits for a later round. Users and addresses take turns there, each in its own order, so that a crowd of one
 * source holds up another by one beginning each time. While nothing waits, to begin costs a look at the clock.
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

  /** Runs `begin` at once, or in a later round; false when it is refused, since too much waits. */
  run(source: Source, begin: () => void): boolean {
    if (this.#waiting.size === 0 && this.#hasTime()) {
      begin();
      return true;
    }
    if (!this.#waiting.push(source, begin)) return false;
    this.#schedule();
    return true;
  }

  /** Undefined where the round has time left; otherwise a promise of a round that has. It rejects with CrowdError when too much waits. */
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
   * A callback of the next round for each that may begin in it: what one does in microtasks ends before the next callback, and so
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

/** What waits of one source. */
interface SourceQueue {
  readonly id: string;
  readonly kind: SourceKind;
  readonly begins: Fifo<() => void>;
}

/**
 * Takes from each source in turn. Users and addresses alternate, so that a crowd of addresses, of which a client may have many, keeps known
 * users from no more than every second place.
 */
class FairQueue {
  readonly #limits: WaitingLimits;
  readonly #queues = new Map<string, SourceQueue>();
  readonly #counts: Record<SourceKind, number> = { address: 0, user: 0 };
  /** The sources of which something waits, the next one first. */
  readonly #turns: Readonly<Record<SourceKind, Fifo<SourceQueue>>> = { address: new Fifo(), user: new Fifo() };
  #next: SourceKind = 'user';
  #size = 0;

  constructor(limits: WaitingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** False when there is no room. */
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

/** First in, first out, in constant time whatever its length. */
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
