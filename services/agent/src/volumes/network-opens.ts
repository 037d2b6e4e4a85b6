import { type Clock, DeadlineError, raceAbort, withDeadline } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

/** The time limit of one open, including the wait for its turn. */
const OPEN_MS = 30_000;
/** The process has four threads for file I/O. */
const MAX_OPENS = 2;

/**
 * Opens files on network servers with limited concurrency. Even a server that has just answered may stop answering; then the kernel
 * blocks a thread of this process without a timeout, and there are few threads. So each server has one open at a time, a node has at
 * most `MAX_OPENS`, and callers wait at most `OPEN_MS`. A server that hangs does not delay opens on other servers. A blocked open ends
 * when its volume is unmounted by force.
 */
export class NetworkOpens {
  readonly #clock: Clock;
  /** Running opens. */
  readonly #opens = new Set<Promise<void>>();
  /** The running open of each server. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * AgentError 'FailedMount' when the open does not end in time. If it succeeds later, its result is disposed of before the next open
   * on these servers.
   */
  async use<T extends AsyncDisposable>(
    servers: readonly string[],
    open: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    using deadline = withDeadline(this.#clock, signal, OPEN_MS);
    const turn = this.#after(servers, open, deadline);
    try {
      return await raceAbort(turn, deadline);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      const message = `a server of NFS volumes does not answer: a subPath was not opened within ${OPEN_MS / 1000} s`;
      throw new AgentError('FailedMount', message, { cause: error });
    }
  }

  /** Opens once the servers are free; gives up at the deadline. */
  async #after<T extends AsyncDisposable>(servers: readonly string[], open: () => Promise<T>, deadline: AbortSignal) {
    // A caller reserves no server while it waits for another one.
    for (let before = this.#before(servers); before !== undefined; before = this.#before(servers)) {
      await raceAbort(before, deadline);
    }
    deadline.throwIfAborted();
    const begin = async () => {
      const opened = await open();
      if (deadline.aborted) await opened[Symbol.asyncDispose]();
      return opened;
    };
    const opening = begin();
    const free = () => {
      for (const server of servers) this.#busy.delete(server);
      this.#opens.delete(ended);
    };
    const ended: Promise<void> = opening.then(free, free);
    for (const server of servers) this.#busy.set(server, ended);
    this.#opens.add(ended);
    return await opening;
  }

  /** Resolves when an open of these servers may be possible; undefined when it is possible now. */
  #before(servers: readonly string[]): Promise<unknown> | undefined {
    const busy = servers.flatMap((server) => this.#busy.get(server) ?? []);
    if (busy.length > 0) return Promise.all(busy);
    return this.#opens.size < MAX_OPENS ? undefined : Promise.race(this.#opens);
  }
}
