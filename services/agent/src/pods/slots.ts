import type { Clock } from '@gantry/base';
import type { CommandLimits } from '../probes/pod-commands.ts';

const BEGINS = 4;
/** A command that runs longer lets the next one begin: the commands of one pod must not hold up the probes of all others. */
const MAX_TURN_MS = 1_000;
const NODE = 16;
/** One that runs longer gives its place on the node to others: those of a few pods must not hold all places until their timeouts. */
const MAX_PLACE_MS = 30_000;
/** So that a readiness probe goes on beside a liveness probe that does not end. */
const POD = 2;
/** A start that hangs, in a volume of the network or a hook of the engine, gives its slot to others then. */
const MAX_START_MS = 10_000;

/** `finish`: the last part of work that was begun. It goes before what has not been begun. */
export type Turn = 'begin' | 'finish';

/** One of the slots, which is given back once. */
export interface Slot extends Disposable {
  /** Whether it was not given back yet. */
  readonly isHeld: boolean;
}

/** How long a slot may be held. */
export interface HoldLimit {
  readonly clock: Clock;
  readonly maxHeldMs: number;
}

/** After this many pieces of one kind in a row, one of the other kind has its turn. */
const MAX_IN_A_ROW = 8;

/**
 * Runs at most `count` pieces of work at once; the others wait, each kind in its order. Half of several equal jobs are done at half of
 * the time when each is finished before the next begins, and all at the end when all begin first. Work that is aborted while it waits
 * never begins: it fails at once.
 */
export class Slots {
  readonly #waiting: Readonly<Record<Turn, (() => void)[]>> = { begin: [], finish: [] };
  readonly #limit: HoldLimit | undefined;
  #free: number;
  #finishedInARow = 0;

  /** With a limit, work that takes longer goes on without its slot: what hangs must not hold up all. */
  constructor(count: number, limit?: HoldLimit) {
    this.#free = count;
    this.#limit = limit;
  }

  async use<T>(work: () => Promise<T>, signal: AbortSignal, turn: Turn = 'begin'): Promise<T> {
    using _ = await this.take(signal, turn);
    return await work();
  }

  /** Takes a slot for work that is to be disposed of when it has ended. */
  async take(signal: AbortSignal, turn: Turn = 'begin'): Promise<Slot> {
    signal.throwIfAborted();
    if (this.#free === 0) await this.#wait(this.#waiting[turn], signal);
    else this.#free -= 1;
    let isHeld = true;
    const giveBack = () => {
      if (!isHeld) return;
      isHeld = false;
      cancel?.();
      const next = this.#next();
      if (next === undefined) this.#free += 1;
      else next();
    };
    const cancel = this.#limit?.clock.setTimer(this.#limit.maxHeldMs, giveBack);
    const slot = {
      get isHeld() {
        return isHeld;
      },
      [Symbol.dispose]: giveBack,
    };
    if (!signal.aborted) return slot;
    giveBack();
    throw signal.reason;
  }

  #wait(queue: (() => void)[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        queue.splice(queue.indexOf(begin), 1);
        reject(signal.reason);
      };
      queue.push(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #next(): (() => void) | undefined {
    const { begin, finish } = this.#waiting;
    const isTurn = finish.length > 0 && (begin.length === 0 || this.#finishedInARow < MAX_IN_A_ROW);
    this.#finishedInARow = isTurn ? this.#finishedInARow + 1 : 0;
    return (isTurn ? finish : begin).shift();
  }
}

/** Slots for starts of containers, `count` at once. */
export function startSlots(count: number, clock: Clock): Slots {
  return new Slots(count, { clock, maxHeldMs: MAX_START_MS });
}

/** The bounds of one node for the commands of its probes. */
export function commandLimits(clock: Clock): CommandLimits {
  return {
    begins: new Slots(BEGINS, { clock, maxHeldMs: MAX_TURN_MS }),
    node: new Slots(NODE, { clock, maxHeldMs: MAX_PLACE_MS }),
    ofPod: () => new Slots(POD),
  };
}
