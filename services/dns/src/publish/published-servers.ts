import { type Clock, errorMessage, pause, withDeadline } from '@gantry/base';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import type { Cache, InformedResource } from '@gantry/controller-runtime';
import { ENDPOINT_SLICES, ENDPOINTS } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import { DNS_SERVICE } from '../zone/cluster-zone.ts';
import { type Action, addressesOf, planServers } from './plan.ts';

/** What is read besides the slices: the Endpoints of the cluster's DNS. */
export const PUBLISHED_RESOURCE: InformedResource = {
  ...ENDPOINTS,
  namespace: DNS_SERVICE.namespace,
  fieldSelector: `metadata.name=${DNS_SERVICE.name}`,
};

export interface PublishedServersOptions {
  readonly client: Pick<ObjectClient, 'create' | 'update'>;
  readonly cache: Cache;
  /** The address at which pods reach this server. Undefined outside of the pods' network, where nothing is published. */
  readonly own: string | undefined;
  /** Whether this server can answer all questions. */
  readonly isReady: () => boolean;
  /** Asks another server a question of the zone. Resolves when it answers. */
  readonly probe: (address: string, signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The time from the start of one look to the start of the next. A dead server is removed within 1.6 s: a look may just have begun, and
 * three looks have to stay without an answer. The C libraries ask again after 2.5 s from the same port, and then reach another server.
 */
const EVERY_MS = 400;
const PROBE_MS = 350;
/** The number of consecutive probes without an answer. Two may be lost on a busy machine. */
const SILENT_AFTER = 3;
const WRITE_MS = 3000;
/**
 * A server continues to answer for this time after its removal. Meanwhile the proxies learn of the change, and the clients get other
 * servers.
 */
const LEAVING_MS = 1500;

/**
 * Keeps the slice and the Endpoints of the cluster's DNS: this server while it serves, and the other servers that answer. If nothing
 * changes, it writes nothing. Servers ask each other, not the API server.
 */
export class PublishedServers {
  readonly #options: PublishedServersOptions;
  /** The number of consecutive probes without an answer, by address. */
  readonly #missed = new Map<string, number>();
  #leaving = false;
  #failure = '';

  constructor(options: PublishedServersOptions) {
    this.#options = options;
  }

  /** Returns the known addresses of all servers of this cluster's DNS. */
  addresses(): readonly string[] {
    const { cache, own } = this.#options;
    const stored = addressesOf(cache.get(ENDPOINT_SLICES, DNS_SERVICE));
    return own === undefined ? stored : [...stored, own];
  }

  member(): GroupMember {
    const { clock } = this.#options;
    return {
      name: 'published-servers',
      run: async (signal) => {
        while (!signal.aborted) {
          const next = clock.monotonicMs() + EVERY_MS;
          await this.#look(signal);
          await pause(clock, Math.max(0, next - clock.monotonicMs()), signal);
        }
      },
      drain: async (signal) => {
        this.#leaving = true;
        await this.#publish(signal);
        await pause(clock, LEAVING_MS, signal);
      },
    };
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { own, isReady } = this.#options;
    // Before everything is known, the slice may seem to be missing.
    if (own === undefined || !isReady() || this.#leaving) return;
    await this.#probeOthers(own, signal);
    await this.#publish(signal);
  }

  async #probeOthers(own: string, signal: AbortSignal): Promise<void> {
    const { cache, probe, clock } = this.#options;
    const others = addressesOf(cache.get(ENDPOINT_SLICES, DNS_SERVICE)).filter((address) => address !== own);
    for (const address of this.#missed.keys()) if (!others.includes(address)) this.#missed.delete(address);
    await Promise.all(
      others.map(async (address) => {
        using deadline = withDeadline(clock, signal, PROBE_MS);
        try {
          await probe(address, deadline);
          this.#missed.delete(address);
        } catch (error) {
          this.#missed.set(address, (this.#missed.get(address) ?? 0) + 1);
          this.#options.logger.debug({ address, reason: errorMessage(error) }, 'another server did not answer');
        }
      }),
    );
  }

  /** Writes the differences. A failure is logged once, and the next look tries again. */
  async #publish(parent: AbortSignal): Promise<void> {
    const { own, cache, clock, logger, isReady } = this.#options;
    if (own === undefined) return;
    const slice = cache.get(ENDPOINT_SLICES, DNS_SERVICE);
    const endpoints = cache.get(ENDPOINTS, DNS_SERVICE);
    const silent = new Set([...this.#missed].flatMap(([address, count]) => (count >= SILENT_AFTER ? [address] : [])));
    const { actions } = planServers({ slice, endpoints, own, serves: isReady() && !this.#leaving, silent });
    using signal = withDeadline(clock, parent, WRITE_MS);
    for (const action of actions) {
      try {
        // Another server was faster. The next look sees what it wrote.
        await ignoreReasons(this.#write(action, signal), ['AlreadyExists', 'Conflict']);
        if (action.kind === 'writeSlice') {
          logger.info({ servers: addressesOf(action.object) }, 'published the servers of the DNS');
        }
        this.#failure = '';
      } catch (error) {
        const reason = errorMessage(error);
        if (reason !== this.#failure) logger.warn({ reason }, 'publishing the servers of the DNS failed, retrying');
        this.#failure = reason;
      }
    }
  }

  async #write({ kind, write, object }: Action, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    if (kind === 'writeSlice') await client[write](ENDPOINT_SLICES, object, signal);
    else await client[write](ENDPOINTS, object, signal);
  }
}
