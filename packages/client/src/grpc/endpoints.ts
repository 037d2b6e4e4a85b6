import { connectivityState, Client, experimental } from '@grpc/grpc-js';
import { StatusError } from '@gantry/objects';
import { type Clock, errorMessage, type Random, sleep } from '@gantry/base';
import { createCertificateProvider, liveChannel, type Liveness, ReconnectingClient, type TlsSource } from '@gantry/tls';

/** One server address and its connection, which is reopened when it is lost. */
export interface Endpoint {
  readonly address: string;
  readonly client: Client;
}

class ConnectedEndpoint implements Endpoint {
  readonly address: string;
  readonly #connection: ReconnectingClient;

  constructor(address: string, connection: ReconnectingClient) {
    this.address = address;
    this.#connection = connection;
  }

  get client(): Client {
    return this.#connection.client;
  }

  close(): void {
    this.#connection.close();
  }
}

/** Finds all addresses of a host name. */
export type Lookup = (host: string) => Promise<readonly string[]>;

export interface EndpointsOptions {
  /** `host:port`; a host may have several addresses, all are used. */
  readonly addresses: readonly string[];
  readonly tls: TlsSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly lookup: Lookup;
}

/**
 * Pings detect a frozen server within two seconds of time in which this process runs, on connections with a call or a watch. Spare
 * connections send no pings: each ping wakes both sides, and the first call detects a frozen server.
 */
const LIVENESS: Liveness = { pingMs: 600, silenceMs: 2000 };

const CHANNEL_OPTIONS = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 400,
  // With the default window, a list of thousands of objects would stop every 64 KiB until the client allows more.
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // Turns off statistics per call and connection; they are not used.
  'grpc.enable_channelz': 0,
};

const RESOLVE_EVERY_MS = 5000;
const RESOLVE_WHILE_DOWN_MS = 250;
const POLL_MS = 20;

/**
 * Keeps a connection to every address of every server, so that failover needs no handshake. Callers stay with one endpoint while it is
 * connected.
 */
export class Endpoints implements Disposable {
  readonly #options: EndpointsOptions;
  readonly #credentials: ReturnType<typeof experimental.createCertificateProviderChannelCredentials>;
  readonly #endpoints = new Map<string, ConnectedEndpoint>();
  #current: Endpoint | undefined;
  #resolvedAtMs = Number.NEGATIVE_INFINITY;
  #resolving: Promise<void> | undefined;
  #problem = 'no address is known yet';
  #state: 'open' | 'closed' = 'open';

  constructor(options: EndpointsOptions) {
    this.#options = options;
    const provider = createCertificateProvider(options.tls);
    this.#credentials = experimental.createCertificateProviderChannelCredentials(provider, provider);
  }

  /** Returns a connected endpoint, preferably not one of `avoid`. Waits for one until the signal is aborted. */
  async acquire(avoid: ReadonlySet<Endpoint>, signal: AbortSignal): Promise<Endpoint> {
    for (;;) {
      const found = this.#pick(avoid);
      this.#resolveWhenStale(found === undefined ? RESOLVE_WHILE_DOWN_MS : RESOLVE_EVERY_MS);
      if (found !== undefined) return found;
      await sleep(this.#options.clock, POLL_MS, signal);
    }
  }

  /** Whether an endpoint outside `avoid` is connected now. */
  hasOther(avoid: ReadonlySet<Endpoint>): boolean {
    return this.#ready().some((endpoint) => !avoid.has(endpoint));
  }

  /** Why there is no connection, for messages. */
  unavailable(): StatusError {
    return StatusError.unavailable(`no API server can be reached: ${this.#problem}`);
  }

  [Symbol.dispose](): void {
    this.#state = 'closed';
    for (const endpoint of this.#endpoints.values()) endpoint.close();
    this.#endpoints.clear();
  }

  #pick(avoid: ReadonlySet<Endpoint>): Endpoint | undefined {
    const ready = this.#ready();
    const fresh = ready.filter((endpoint) => !avoid.has(endpoint));
    const candidates = fresh.length > 0 ? fresh : ready;
    if (this.#current !== undefined && candidates.includes(this.#current)) return this.#current;
    const picked = candidates[Math.floor(this.#options.random() * candidates.length)];
    if (picked !== undefined) this.#current = picked;
    return picked;
  }

  #ready(): readonly Endpoint[] {
    return [...this.#endpoints.values()].filter(
      ({ client }) => client.getChannel().getConnectivityState(true) === connectivityState.READY,
    );
  }

  #resolveWhenStale(maxAgeMs: number): void {
    if (this.#state === 'closed') return;
    const now = this.#options.clock.monotonicMs();
    if (this.#resolving !== undefined || now - this.#resolvedAtMs < maxAgeMs) return;
    this.#resolving = this.#resolve().finally(() => {
      this.#resolvedAtMs = this.#options.clock.monotonicMs();
      this.#resolving = undefined;
    });
  }

  async #resolve(): Promise<void> {
    const found = await Promise.all(this.#options.addresses.map((address) => this.#resolveOne(address)));
    const addresses = new Map(found.flat().map(({ target, host }) => [target, host]));
    // A name that cannot be resolved now keeps its connections. A disposed object must have none.
    if (addresses.size === 0 || this.#state === 'closed') return;
    for (const [target, endpoint] of this.#endpoints) {
      const isReady = endpoint.client.getChannel().getConnectivityState(false) === connectivityState.READY;
      if (addresses.has(target) || isReady) continue;
      endpoint.close();
      this.#endpoints.delete(target);
      if (this.#current === endpoint) this.#current = undefined;
    }
    for (const [target, host] of addresses) {
      if (!this.#endpoints.has(target)) this.#endpoints.set(target, this.#connect(target, host));
    }
    this.#problem = `${[...addresses.keys()].join(', ')} not connected`;
  }

  async #resolveOne(address: string): Promise<readonly { target: string; host: string }[]> {
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon);
    const port = address.slice(colon + 1);
    try {
      const ips = await this.#options.lookup(host);
      return ips.map((ip) => ({ target: ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`, host }));
    } catch (error) {
      this.#problem = errorMessage(error);
      return [];
    }
  }

  #connect(target: string, host: string): ConnectedEndpoint {
    const names = { 'grpc.ssl_target_name_override': host, 'grpc.default_authority': host };
    const { clock } = this.#options;
    const connection = new ReconnectingClient((options) => {
      const live = liveChannel(this.#credentials, LIVENESS, clock);
      return new Client(target, live.credentials, { ...CHANNEL_OPTIONS, ...names, ...live.options, ...options });
    }, clock);
    connection.client.getChannel().getConnectivityState(true);
    return new ConnectedEndpoint(target, connection);
  }
}
