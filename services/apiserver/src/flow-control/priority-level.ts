import type { Clock } from '@gantry/base';
import { Tally } from '@gantry/service';
import { Demand, type DemandOfPeriod } from './borrowing.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

/** Why a request was refused. */
export type Rejection = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** A request was refused by flow control. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
  readonly reason: Rejection;

  constructor(reason: Rejection) {
    super(`refused by flow control: ${reason}`);
    this.reason = reason;
  }
}

/** How a priority level treats requests. */
export interface LevelSettings {
  readonly name: string;
  readonly uid: string;
  readonly mode: 'exempt' | 'reject' | 'queue';
  /** Of queueing: how many queues, how many of them a flow may use, and how many requests wait in one. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
  /** Seats: its own, and the bounds of what it has after lending and borrowing. */
  readonly nominal: number;
  readonly lower: number;
  readonly upper: number;
}

/** The seats that a request holds. */
export interface Seats extends Disposable {
  /** Gives the seats back; once. */
  release(): void;
}

/** The requests of one flow schema at a level, and their seats. */
export interface SchemaLoad {
  executing: number;
  executingSeats: number;
  waiting: number;
  waitingSeats: number;
  /** Requests that began to execute, ever. */
  dispatched: number;
  /** How often there was no room for the request that was next. */
  unaccommodated: number;
  /** Seats that requests wanted. */
  readonly estimates: Tally;
  /** Lengths of the queues of requests that began to wait. */
  readonly lengths: Tally;
  /** Seconds that requests executed. */
  readonly executions: Readonly<Record<RequestType, Tally>>;
}

interface Queue {
  readonly waiting: Waiting[];
  executing: number;
  /** Seats of those that wait. */
  demanded: number;
  /** Virtual time at which its next request starts. */
  nextStart: number;
}

interface Waiting {
  readonly width: number;
  readonly load: SchemaLoad;
  readonly queue: Queue;
  readonly start: () => void;
}

/** Whether a request lasts: of a watch only its beginning counts. */
export type RequestType = 'regular' | 'watch';

/** Kubernetes' buckets: of times in seconds, of lengths of queues, of seats. */
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000];
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100];

/** How long a request may wait: a quarter of the time for a request, as in Kubernetes. */
const WAIT_MS = 15_000;
/** What a request is taken to last until it has ended, in seconds. */
const ESTIMATE_S = 0.003;

/**
 * The seats of a priority level, and the queues before them. Where there is room and no request waits, starting one costs a comparison
 * and a few additions. Else flows wait in queues that are served fairly: the queue whose requests have had least goes first.
 */
export class PriorityLevel {
  readonly #clock: Clock;
  readonly #demand: Demand;
  /** Queues with requests that wait or execute. */
  readonly #active = new Set<Queue>();
  readonly #loads = new Map<string, SchemaLoad>();
  #settings: LevelSettings;
  #queues: Queue[] = [];
  #limit: number;
  #executing = 0;
  #executingSeats = 0;
  #waiting = 0;
  #waitingSeats = 0;
  #virtual = 0;
  #virtualAt: number;

  constructor(settings: LevelSettings, clock: Clock) {
    this.#clock = clock;
    this.#settings = settings;
    this.#limit = settings.nominal;
    this.#virtualAt = clock.monotonicMs();
    this.#demand = new Demand(this.#virtualAt);
  }

  get settings(): LevelSettings {
    return this.#settings;
  }

  get limit(): number {
    return this.#limit;
  }

  get executing(): number {
    return this.#executing;
  }

  get executingSeats(): number {
    return this.#executingSeats;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get demand(): DemandOfPeriod {
    return this.#demand.last;
  }

  /** The load of each flow schema that has sent a request, by name. */
  get loads(): ReadonlyMap<string, SchemaLoad> {
    return this.#loads;
  }

  /** New settings; requests that wait keep their place. */
  configure(settings: LevelSettings): void {
    const { queues, mode, nominal } = settings;
    const old = this.#settings;
    this.#settings = settings;
    if (old.queues !== queues || old.mode !== mode) this.#queues = [];
    if (old.nominal !== nominal) this.setLimit(nominal);
    else this.setLimit(Math.min(settings.upper, Math.max(settings.lower, this.#limit)));
  }

  setLimit(limit: number): void {
    this.#limit = limit;
    this.#dispatch();
  }

  /** Ends a period of borrowing: the most seats that were wanted in it, and the smoothed demand. */
  endPeriod(): DemandOfPeriod {
    return this.#demand.endPeriod(this.#clock.monotonicMs());
  }

  /** The widest request that makes sense: one that leaves room for the other queues of its hand. */
  get maxWidth(): number {
    const { mode, handSize, nominal } = this.#settings;
    return mode === 'queue' ? Math.max(1, Math.floor(nominal / Math.max(1, handSize))) : 1;
  }

  /** Seats at once, where there is room and no request waits; undefined otherwise. */
  tryStart(schema: string, width: number, type: RequestType = 'regular'): Seats | undefined {
    const load = this.#loadOf(schema);
    load.estimates.observe(width);
    if (this.#settings.mode !== 'exempt' && (this.#waiting > 0 || !this.#fits(width))) return undefined;
    this.#begin(width, load);
    return this.#seats(width, load, type, undefined);
  }

  /** Waits for seats; rejects with a RejectedError. */
  wait(
    schema: string,
    flow: string,
    width: number,
    signal: AbortSignal,
    type: RequestType = 'regular',
  ): Promise<Seats> {
    const { mode, queueLengthLimit } = this.#settings;
    if (mode !== 'queue') return Promise.reject(new RejectedError('concurrency-limit'));
    this.#advance();
    const queue = this.#choose(schema, flow);
    const load = this.#loadOf(schema);
    if (queue.waiting.length >= queueLengthLimit) return Promise.reject(new RejectedError('queue-full'));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        width,
        load,
        queue,
        start: () => {
          settle();
          resolve(this.#seats(width, load, type, queue));
        },
      };
      const leave = (reason: Rejection): void => {
        settle();
        this.#leave(waiting);
        reject(new RejectedError(reason));
      };
      const onAbort = (): void => leave('cancelled');
      const cancel = this.#clock.setTimer(WAIT_MS, () => leave('time-out'));
      const settle = (): void => {
        cancel();
        signal.removeEventListener('abort', onAbort);
      };
      this.#enqueue(waiting);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      else this.#dispatch();
    });
  }

  #fits(width: number): boolean {
    if (width > this.#limit) return this.#executingSeats === 0;
    return this.#executingSeats + width <= this.#limit;
  }

  #loadOf(schema: string): SchemaLoad {
    let load = this.#loads.get(schema);
    if (load === undefined) {
      load = emptyLoad();
      this.#loads.set(schema, load);
    }
    return load;
  }

  #begin(width: number, load: SchemaLoad): void {
    this.#executing += 1;
    this.#executingSeats += width;
    load.dispatched += 1;
    load.executing += 1;
    load.executingSeats += width;
    this.#noteDemand();
  }

  #seats(width: number, load: SchemaLoad, type: RequestType, queue: Queue | undefined): Seats {
    const startedMs = this.#clock.monotonicMs();
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      this.#executing -= 1;
      this.#executingSeats -= width;
      load.executing -= 1;
      load.executingSeats -= width;
      const lastedS = (this.#clock.monotonicMs() - startedMs) / 1000;
      load.executions[type].observe(lastedS);
      if (queue !== undefined) {
        queue.executing -= 1;
        // It was charged what a request is taken to last; now that is known.
        queue.nextStart += width * (lastedS - ESTIMATE_S);
        this.#forget(queue);
      }
      this.#noteDemand();
      if (this.#waiting > 0) this.#dispatch();
    };
    return { release, [Symbol.dispose]: release };
  }

  /** The queue of the flow's hand that has the least before it. */
  #choose(schema: string, flow: string): Queue {
    const { queues, handSize } = this.#settings;
    while (this.#queues.length < queues) this.#queues.push(emptyQueue());
    let best: Queue | undefined;
    for (const index of dealHand(hashFlow(schema, flow), queues, handSize)) {
      const queue = this.#queues[index];
      if (queue !== undefined && (best === undefined || workOf(queue) < workOf(best))) best = queue;
    }
    return best ?? emptyQueue();
  }

  #enqueue(waiting: Waiting): void {
    const { queue, width, load } = waiting;
    if (!this.#active.has(queue)) {
      // A queue that was empty starts now: it saves nothing up.
      queue.nextStart = this.#virtual;
      this.#active.add(queue);
    }
    queue.waiting.push(waiting);
    load.lengths.observe(queue.waiting.length);
    queue.demanded += width;
    this.#waiting += 1;
    this.#waitingSeats += width;
    load.waiting += 1;
    load.waitingSeats += width;
    this.#noteDemand();
  }

  #leave(waiting: Waiting): void {
    const { queue } = waiting;
    queue.waiting.splice(queue.waiting.indexOf(waiting), 1);
    this.#waitsNoLonger(waiting);
    this.#forget(queue);
    this.#noteDemand();
    this.#dispatch();
  }

  #waitsNoLonger({ queue, width, load }: Waiting): void {
    queue.demanded -= width;
    this.#waiting -= 1;
    this.#waitingSeats -= width;
    load.waiting -= 1;
    load.waitingSeats -= width;
  }

  #forget(queue: Queue): void {
    if (queue.waiting.length === 0 && queue.executing === 0) this.#active.delete(queue);
  }

  #dispatch(): void {
    this.#advance();
    while (this.#waiting > 0) {
      const queue = this.#next();
      const first = queue?.waiting[0];
      if (queue === undefined || first === undefined) return;
      if (!this.#fits(first.width)) {
        first.load.unaccommodated += 1;
        return;
      }
      queue.waiting.shift();
      this.#waitsNoLonger(first);
      queue.executing += 1;
      queue.nextStart += first.width * ESTIMATE_S;
      this.#begin(first.width, first.load);
      first.start();
    }
  }

  /** The queue whose first request would end first in virtual time. */
  #next(): Queue | undefined {
    let best: Queue | undefined;
    let bestEnd = Infinity;
    for (const queue of this.#active) {
      const [first] = queue.waiting;
      if (first === undefined) continue;
      const end = queue.nextStart + first.width * ESTIMATE_S;
      if (end < bestEnd) {
        best = queue;
        bestEnd = end;
      }
    }
    return best;
  }

  /** Virtual time is what a queue gets of the seats while all are served alike. */
  #advance(): void {
    const now = this.#clock.monotonicMs();
    if (this.#active.size > 0) {
      const served = Math.min(this.#limit, this.#executingSeats + this.#waitingSeats);
      this.#virtual += (((now - this.#virtualAt) / 1000) * served) / this.#active.size;
    }
    this.#virtualAt = now;
  }

  #noteDemand(): void {
    this.#demand.set(this.#executingSeats + this.#waitingSeats, this.#clock.monotonicMs());
  }
}

function emptyLoad(): SchemaLoad {
  return {
    executing: 0,
    executingSeats: 0,
    waiting: 0,
    waitingSeats: 0,
    dispatched: 0,
    unaccommodated: 0,
    estimates: new Tally(SEATS),
    lengths: new Tally(LENGTHS),
    executions: { regular: new Tally(SECONDS), watch: new Tally(SECONDS) },
  };
}

function emptyQueue(): Queue {
  return { waiting: [], executing: 0, demanded: 0, nextStart: 0 };
}

function workOf({ executing, demanded }: Queue): number {
  return executing + demanded;
}
