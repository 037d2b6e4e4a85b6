import type { Clock } from '@gantry/base';
import { lifetime, type Received } from './upstream-packet.ts';

interface Entry {
  readonly received: Received;
  readonly since: number;
  readonly until: number;
}

/** The maximum time in seconds that a response is kept, as in Kubernetes' manifest of CoreDNS. */
const MAX_SECONDS = 30;
const MAX_ENTRIES = 4096;
/** Larger responses are not kept, so all entries together stay below 16 MiB. */
const MAX_BYTES = 4096;

/** Keeps responses of the host's resolvers for as long as their records are valid. The oldest responses are removed first. */
export class ReceivedCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a response that is still valid, and for how many seconds it has been kept. */
  find(key: string): { readonly received: Received; readonly keptSeconds: number } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    if (now >= entry.until) {
      this.#entries.delete(key);
      return undefined;
    }
    return { received: entry.received, keptSeconds: Math.floor((now - entry.since) / 1000) };
  }

  keep(key: string, received: Received): void {
    const seconds = Math.min(MAX_SECONDS, lifetime(received));
    if (!(seconds > 0) || received.bytes.length > MAX_BYTES || received.isTruncated) return;
    // The client may retry at once after any other code.
    if (received.code !== 0 && received.code !== 3) return;
    const [oldest] = this.#entries.size >= MAX_ENTRIES ? this.#entries.keys() : [];
    if (oldest !== undefined) this.#entries.delete(oldest);
    const since = this.#clock.monotonicMs();
    this.#entries.set(key, { received, since, until: since + seconds * 1000 });
  }
}
