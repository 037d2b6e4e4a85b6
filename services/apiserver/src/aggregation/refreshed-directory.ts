import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { Turns } from '../turns.ts';
import type { ApiServiceIndex, RemoteApi } from './api-service-index.ts';
import { ExcessError } from './fetch-remote.ts';
import { fetchDocuments, type RemoteDirectory, type RemoteDocuments, STALE } from './remote-documents.ts';
import type { RemoteServers } from './remote-servers.ts';

export interface RefreshedDirectoryOptions {
  readonly index: ApiServiceIndex;
  readonly servers: RemoteServers;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly logger: Logger;
}

const REFRESH_MS = 30_000;
const RETRY_FIRST_MS = 500;

interface Known {
  /** Identifies the RemoteApi from which the documents come. */
  readonly key: string;
  readonly documents: RemoteDocuments;
  /** The bound that they exceed. */
  readonly excess?: string | undefined;
  readonly dueAt: number;
  readonly failures: number;
}

/**
 * Caches the documents of extension servers. They are fetched after each change of the APIService, and every 30 seconds. Readers
 * never wait for a server.
 */
export class RefreshedDirectory implements RemoteDirectory {
  readonly #options: RefreshedDirectoryOptions;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Set<string>();
  readonly #listeners = new Set<() => void>();
  readonly #loop: ControlLoop;
  #generation = 0;

  constructor(options: RefreshedDirectoryOptions) {
    this.#options = options;
    const { index, clock, logger } = options;
    this.#loop = new ControlLoop({
      name: 'remote-directory',
      clock,
      intervalMs: REFRESH_MS,
      retry: { initialMs: RETRY_FIRST_MS, maxMs: REFRESH_MS },
      subscribe: (notify) => [index.observe(notify)],
      round: async (signal) => this.#start(signal) - clock.monotonicMs(),
      onError: (error) => logger.warn({ reason: errorMessage(error) }, 'asking extension servers failed, retrying'),
    });
  }

  get generation(): number {
    return this.#generation;
  }

  documents({ name }: RemoteApi): RemoteDocuments {
    return this.#known.get(name)?.documents ?? STALE;
  }

  excess(remote: RemoteApi): string | undefined {
    const known = this.#known.get(remote.name);
    return known === undefined ? remote.excess : known.excess;
  }

  observe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The group member that refreshes the documents. It closes the connections at its end. */
  member(): GroupMember {
    const { name, run } = this.#loop;
    return { name, run, close: async () => this.#options.servers.close() };
  }

  /** Starts the fetches that are due. Returns the time of the next one. */
  #start(signal: AbortSignal): number {
    const { index, servers, clock } = this.#options;
    const now = clock.monotonicMs();
    const present = new Set(index.remotes.map(({ name }) => name));
    for (const name of [...this.#known.keys()]) {
      if (present.has(name)) continue;
      this.#known.delete(name);
      servers.forget(name);
    }
    let next = now + REFRESH_MS;
    for (const remote of index.remotes) {
      if (this.#asking.has(remote.name)) continue;
      const known = this.#known.get(remote.name);
      const dueAt = known?.key === JSON.stringify(remote) ? known.dueAt : now;
      if (dueAt <= now) void this.#ask(remote, signal);
      else next = Math.min(next, dueAt);
    }
    return next;
  }

  async #ask(remote: RemoteApi, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const { name } = remote;
    this.#asking.add(name);
    const before = this.#known.get(name);
    const last = before?.documents ?? STALE;
    let documents = STALE;
    let excess: string | undefined;
    let failures = 0;
    try {
      if (remote.isAvailable || remote.excess !== undefined) {
        documents = await fetchDocuments(this.#options, remote, last, signal);
      }
    } catch (error) {
      failures = (before?.failures ?? 0) + 1;
      const reason = errorMessage(error);
      excess = error instanceof ExcessError ? reason : this.excess(remote);
      if (failures === 1 && !signal.aborted)
        logger.warn({ apiService: name, reason }, 'reading the discovery of an extension server failed, retrying');
    }
    const waitMs = failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, RETRY_FIRST_MS * 2 ** (failures - 1));
    const dueAt = clock.monotonicMs() + waitMs;
    this.#known.set(name, { key: JSON.stringify(remote), documents, excess, dueAt, failures });
    if (documents.digest !== last.digest) this.#generation++;
    if (excess !== before?.excess) for (const listener of this.#listeners) listener();
    this.#asking.delete(name);
    this.#loop.notify();
  }
}
