import { type Clock, pause } from '@gantry/base';

/** A command that runs longer lets the next one begin: the commands of one pod must not hold up the probes of all others. */
const MAX_TURN_MS = 1_000;

/** Lets so many pieces of work run at once; the others wait in order. */
export interface Turns {
  use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Bounds the commands of probes that run at once: each costs the engine much more than a connection does. */
export interface CommandLimits {
  /** Of the node, commands that began within the last second: the work of the engine is at a command's begin and end. */
  readonly begins: Turns;
  /** Of the node, commands that run: on a slow engine, or with commands that do not end, no more pile up than that. */
  readonly node: Turns;
  /** A bound for one pod, so that commands which do not end leave room for those of other pods. */
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
    return await this.#pod.use(
      () =>
        node.use(async () => {
          const { outcome } = await begins.use(() => this.#begin(command), signal);
          return await outcome;
        }, signal),
      signal,
    );
  }

  async #begin<T>(command: () => Promise<T>): Promise<{ readonly outcome: Promise<T> }> {
    const outcome = command();
    const ended = new AbortController();
    const end = () => ended.abort();
    void outcome.then(end, end);
    await pause(this.#clock, MAX_TURN_MS, ended.signal);
    return { outcome };
  }
}
