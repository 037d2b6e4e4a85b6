/** Runs a limited number of pieces of work at once; the others wait in order. */
export interface Turns {
  use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Limits how many probe commands run at once. A command costs the engine much more than a connection. */
export interface CommandLimits {
  /** Limits the commands of the node that began within the last second, because the engine mainly works at a command's begin and end. */
  readonly begins: Turns;
  /** Limits the running commands of the node; those older than 30 s do not count. On a slow engine, no more can pile up. */
  readonly node: Turns;
  /** Limits the running commands of one pod, however long they run. So the number of pods limits the total of the node. */
  readonly ofPod: () => Turns;
}

/** The commands of one pod's probes. */
export class PodCommands {
  readonly #limits: CommandLimits;
  readonly #pod: Turns;

  constructor(limits: CommandLimits) {
    this.#limits = limits;
    this.#pod = limits.ofPod();
  }

  /** Runs a command when it gets its turns, first in its pod. While it waits there, it does not block other pods. */
  async run<T>(command: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { begins, node } = this.#limits;
    const begin = () => begins.use(command, signal);
    return await this.#pod.use(() => node.use(begin, signal), signal);
  }
}
