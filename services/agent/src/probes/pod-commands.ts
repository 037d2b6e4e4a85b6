import { type Clock, pause } from '@gantry/base';

/** A command that runs longer lets the next one begin: the commands of one pod must not hold up the probes of all others. */
const MAX_TURN_MS = 1_000;
/** One that runs longer gives its place on the node to others: those of a few pods must not hold all places until their timeouts. */
const MAX_PLACE_MS = 30_000;

/** Lets so many pieces of work run at once; the others wait in order. */
export interface Turns {
  use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Bounds the commands of probes that run at once: each costs the engine much more than a connection does. */
export interface CommandLimits {
  /** Of the node, commands that began within the last second: the work of the engine is at a command's begin and end. */
  readonly begins: Turns;
  /** Of the node, commands that have run for up to half a minute: on a slow engine no more pile up than that. */
  readonly node: Turns;
  /** Of one pod, all commands that run, however long: so those of a node are bounded by its pods. */
  readonly ofPod: () => Turns;
}

/** The commands of one pod's probes. */
export class PodCommands {
  readonly #limits: CommandLimits;
  readonly #clock: Clock;
  readonly #pod: Turns;

  constructor(limits: CommandLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#pod = limits.ofPod();
  }

  /** Runs a command when its turn comes, first in its pod: what waits there takes no place of other pods. */
  async run<T>(command: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { begins, node } = this.#limits;
    const begin = () => this.#within(MAX_TURN_MS, begins, command, signal);
    return await this.#pod.use(() => this.#within(MAX_PLACE_MS, node, begin, signal), signal);
  }

  /** Runs a command, which holds its turn for so long at most. */
  async #within<T>(maxMs: number, turns: Turns, command: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { outcome } = await turns.use(() => this.#start(maxMs, command), signal);
    return await outcome;
  }

  /** Returns when the command has ended, or has run for so long. */
  async #start<T>(maxMs: number, command: () => Promise<T>): Promise<{ readonly outcome: Promise<T> }> {
    const outcome = command();
    const ended = new AbortController();
    const end = () => ended.abort();
    void outcome.then(end, end);
    await pause(this.#clock, maxMs, ended.signal);
    return { outcome };
  }
}
