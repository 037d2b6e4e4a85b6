import type { Clock } from '@gantry/base';
import { Tally } from '@gantry/service';
import { Demand, type DemandOfPeriod } from './borrowing.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

/** The reason for the rejection of a request. */
export type Rejection = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** Flow control has rejected a request. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
  readonly reason: Rejection;

  constructor(reason: Rejection) {
    super(`refused by flow control: ${reason}`);
    this.reason = reason;
  }
}

/** The settings of a priority level. */
export interface LevelSettings {
  readonly name: string;
  readonly uid: string;
  readonly mode: 'exempt' | 'reject' | 'queue';
  /** Queueing: the number of queues, the number of queues that one flow may use, and the maximum number of requests per queue. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
  /** Seats: its own number, and the limits of its number after lending and borrowing. */
  readonly nominal: number;
  readonly lower: number;
  readonly upper: number;
}

/** The seats that a request holds. */
export interface Seats extends Disposable {
  /** Gives the seats back. Further calls have no effect. */
  release(): void;
}

/** The requests of one flow schema at a priority level, and their seats. */
export interface SchemaLoad {
  executing: number;
  executingSeats: number;
  waiting: number;
  waitingSeats: number;
  /** Number of requests that have started since the process started. */
  dispatched: number;
  /** How often the next request of a queue found too few free seats. */
  unaccommodated: number;
  /** Seats that requests needed. */
  readonly estimates: Tally;
  /** Length of the queue at each time that a request was added to it. */
  readonly lengths: Tally;
  /** Execution time in seconds. */
  readonly executions: Readonly<Record<RequestType, Tally>>;
}

interface Queue {
  readonly waiting: Waiting[];
  executing: number;
  /** Seats of the waiting requests. */
  demanded: number;
  /** Virtual time at which the next request of the queue starts. */
  nextStart: number;
}

interface Waiting {
  readonly width: number;
  readonly load: SchemaLoad;
  readonly queue: Queue;
  readonly start: () => void;
}

/** The type of a request in metrics. A watch has seats only while it starts. */
export type RequestType = 'regular' | 'watch';

/** The buckets of Kubernetes' metrics: seconds, queue lengths, seats. */
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000];
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100];

/** The maximum wait of a request: a quarter of the request timeout, as in Kubernetes. */
const WAIT_MS = 15_000;
/** The assumed duration of a request, in seconds. The actual duration replaces it when the request ends. */
const ESTIMATE_S = 0.003;

/**
 * The seats of a priority level, and its queues. If there are free seats and no request waits, a request starts at once, which is cheap.
 * Else requests wait in queues with fair queueing: the queue that has used the fewest seats is served first.
 */
export class PriorityLevel {
  readonly #clock: Clock;
  readonly #demand: Demand;
  /** Queues with waiting or executing requests. */
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

  /** Changes the settings. Waiting requests keep their place. */
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

  /** Ends a borrowing period. Returns the highest number of seats that were needed in it, and the smoothed demand. */
  endPeriod(): DemandOfPeriod {
    return this.#demand.endPeriod(this.#clock.monotonicMs());
  }

  /** The maximum number of seats of one request, which leaves seats for the other queues of its hand. */
  get maxWidth(): number {
    const { mode, handSize, nominal } = this.#settings;
    return mode === 'queue' ? Math.max(1, Math.floor(nominal / Math.max(1, handSize))) : 1;
  }

  /** Takes seats if enough are free and no request waits; else returns undefined. */
  tryStart(schema: string, width: number, type: RequestType = 'regular'): Seats | undefined {
    const load = this.#loadOf(schema);
    load.estimates.observe(width);
    if (this.#settings.mode !== 'exempt' && (this.#waiting > 0 || !this.#fits(width))) return undefined;
    this.#begin(width, load);
    return this.#seats(width, load, type, undefined);
  }

  /** Waits for seats. Rejects with a RejectedError. */
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
        // Replace the assumed duration by the actual one.
        queue.nextStart += width * (lastedS - ESTIMATE_S);
        this.#forget(queue);
      }
      this.#noteDemand();
      if (this.#waiting > 0) this.#dispatch();
    };
    return { release, [Symbol.dispose]: release };
  }

  /** The queue of the flow's hand with the fewest requests and seats before this request. */
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
      // A queue that was empty starts at the current virtual time, so that it gains nothing from its idle time.
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

  /** The queue whose first request would be the first to end in virtual time. */
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

  /** Advances virtual time: the seat-seconds that each active queue would have had if all shared the seats equally. */
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
