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
  readonly #pod: Turns;

  constructor(limits: CommandLimits) {
    this.#limits = limits;
    this.#pod = limits.ofPod();
  }

  /** Runs a command when its turn comes, first in its pod: what waits there takes no place of other pods. */
  async run<T>(command: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { begins, node } = this.#limits;
    const begin = () => begins.use(command, signal);
    return await this.#pod.use(() => node.use(begin, signal), signal);
  }
}
