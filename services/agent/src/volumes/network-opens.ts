import { type Clock, DeadlineError, raceAbort, withDeadline } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

/** For one, with the time that it waits for its turn. */
const OPEN_MS = 30_000;
/** The process has four threads that read files. */
const MAX_OPENS = 2;

/**
 * Opens what is on servers of the network. Also one that has just answered may answer no more, by accident or not: then the kernel lets a
 * thread of this process wait without end, and there are few. So one open goes on at a time for a server and `MAX_OPENS` in a node, and no
 * caller waits for it longer than `OPEN_MS`: one server that hangs delays what is on no other. What hangs ends with the forced unmount of
 * its volume.
 */
export class NetworkOpens {
  readonly #clock: Clock;
  /** What goes on. */
  readonly #opens = new Set<Promise<void>>();
  /** By server, the open that goes on. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** AgentError 'FailedMount' where it does not end in time. What comes of it later is disposed of before the next turn of its servers. */
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

  /** A turn that does not come in time is given up. */
  async #after<T extends AsyncDisposable>(servers: readonly string[], open: () => Promise<T>, deadline: AbortSignal) {
    // None is kept from others while another one of them is waited for.
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

  /** What an open of these servers has to wait for. */
  #before(servers: readonly string[]): Promise<unknown> | undefined {
    const busy = servers.flatMap((server) => this.#busy.get(server) ?? []);
    if (busy.length > 0) return Promise.all(busy);
    return this.#opens.size < MAX_OPENS ? undefined : Promise.race(this.#opens);
  }
}
