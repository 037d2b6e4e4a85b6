import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { ApiServiceIndex, RemoteApi } from './api-service-index.ts';
import { fetchDocuments, type RemoteDocuments, STALE } from './remote-documents.ts';
import type { RemoteServers } from './remote-servers.ts';
import { Wake } from '../upkeep/wake.ts';

export interface RemoteDirectoryOptions {
  readonly index: ApiServiceIndex;
  readonly servers: RemoteServers;
  readonly clock: Clock;
  readonly logger: Logger;
}

const REFRESH_MS = 30_000;
const RETRY_FIRST_MS = 500;

interface Known {
  /** Of the RemoteApi that was asked. */
  readonly key: string;
  readonly documents: RemoteDocuments;
  /** Of the documents. */
  readonly text: string;
  readonly dueAt: number;
  readonly failures: number;
}

/**
 * What the extension servers say that they serve, kept up to date: each is asked when its APIService changes, and every half
 * minute. Nobody who reads ever waits for one of them.
 */
export class RemoteDirectory {
  readonly #options: RemoteDirectoryOptions;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Set<string>();
  readonly #wake = new Wake();
  #generation = 0;

  constructor(options: RemoteDirectoryOptions) {
    this.#options = options;
  }

  /** Rises when any of the documents changes. */
  get generation(): number {
    return this.#generation;
  }

  documents({ name }: RemoteApi): RemoteDocuments {
    return this.#known.get(name)?.documents ?? STALE;
  }

  member(): GroupMember {
    const { index, servers, clock } = this.#options;
    return {
      name: 'remote-directory',
      run: async (signal) => {
        const stop = index.observe(this.#wake.ring);
        while (!signal.aborted) {
          const dueAt = this.#start(signal);
          await this.#wake.wait(clock, dueAt - clock.monotonicMs(), signal);
        }
        stop();
      },
      close: async () => servers.close(),
    };
  }

  /** Asks those whose time has come, and says when the next one's does. */
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
    let documents = STALE;
    let failures = 0;
    try {
      if (remote.isAvailable) documents = await fetchDocuments(this.#options, remote, signal);
    } catch (error) {
      failures = (before?.failures ?? 0) + 1;
      const reason = errorMessage(error);
      if (failures === 1 && !signal.aborted)
        logger.warn({ apiService: name, reason }, 'no discovery of an extension server');
    }
    const text = JSON.stringify(documents);
    const waitMs = failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, RETRY_FIRST_MS * 2 ** (failures - 1));
    this.#known.set(name, {
      key: JSON.stringify(remote),
      documents,
      text,
      dueAt: clock.monotonicMs() + waitMs,
      failures,
    });
    if (text !== (before?.text ?? JSON.stringify(STALE))) this.#generation++;
    this.#asking.delete(name);
    this.#wake.ring();
  }
}
