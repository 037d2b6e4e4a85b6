import type { Clock } from '@gantry/base';
import type { CommandLimits } from '../probes/pod-commands.ts';

const BEGINS = 4;
/** After this time the next command may begin: the commands of one pod must not delay the probes of all others. */
const MAX_TURN_MS = 1_000;
const NODE = 16;
/**
 * After this time a command no longer counts against the node's limit: commands of a few pods must not use it up until their timeouts.
 */
const MAX_PLACE_MS = 30_000;
/** Two, so that a readiness probe continues while a liveness probe hangs. */
const POD = 2;
/** After this time a start gives up its slot. It may hang on a network volume or in a hook of the engine. */
const MAX_START_MS = 10_000;

/** `finish`: the last part of work that has begun. It takes precedence over new work. */
export type Turn = 'begin' | 'finish';

/** A slot; disposing of it releases it once. */
export interface Slot extends Disposable {
  /** Whether it has not been released yet. */
  readonly isHeld: boolean;
}

/** The longest time for which a slot counts as held. */
export interface HoldLimit {
  readonly clock: Clock;
  readonly maxHeldMs: number;
}

/** After this many slots in a row for `finish`, a `begin` gets one. */
const MAX_IN_A_ROW = 8;

/**
 * Runs at most `count` pieces of work at once. The others wait, each kind in its order. Finishing begun work first makes jobs complete
 * early: if all jobs begin first, all complete only at the end. Aborted work that is still waiting fails immediately and never begins.
 */
export class Slots {
  readonly #waiting: Readonly<Record<Turn, (() => void)[]>> = { begin: [], finish: [] };
  readonly #limit: HoldLimit | undefined;
  #free: number;
  #finishedInARow = 0;

  /** With a limit, work that takes longer continues without its slot, so that work that hangs does not block all. */
  constructor(count: number, limit?: HoldLimit) {
    this.#free = count;
    this.#limit = limit;
  }

  async use<T>(work: () => Promise<T>, signal: AbortSignal, turn: Turn = 'begin'): Promise<T> {
    using _ = await this.take(signal, turn);
    return await work();
  }

  /** Takes a slot. Dispose of it when the work has ended. */
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

/** Slots for starting containers, `count` at once. */
export function startSlots(count: number, clock: Clock): Slots {
  return new Slots(count, { clock, maxHeldMs: MAX_START_MS });
}

/** The limits of one node for probe commands. */
export function commandLimits(clock: Clock): CommandLimits {
  return {
    begins: new Slots(BEGINS, { clock, maxHeldMs: MAX_TURN_MS }),
    node: new Slots(NODE, { clock, maxHeldMs: MAX_PLACE_MS }),
    ofPod: () => new Slots(POD),
  };
}
