import { type CancelTimer, type Clock, setPatientTimer } from '@gantry/base';
import { type Client, type ClientOptions, connectivityState } from '@grpc/grpc-js';

/** Milliseconds for one attempt to connect, with its TLS handshake. */
const CONNECT_MS = 2000;

/**
 * A gRPC client that gives up an attempt to connect after `connectMs`, in which this process runs, and begins another one. While the network drops packets, the kernel
 * waits up to a minute before it sends its first packet again, and a handshake can wait for ever, also when the network works again. Calls
 * that waited for the former attempt fail with UNAVAILABLE.
 */
export class ReconnectingClient {
  readonly #create: (options: ClientOptions) => Client;
  readonly #clock: Clock;
  readonly #connectMs: number;
  #client: Client;
  #state: 'open' | 'closed' = 'open';

  /** `create` makes a client with these options and its own. */
  constructor(create: (options: ClientOptions) => Client, clock: Clock, connectMs = CONNECT_MS) {
    this.#clock = clock;
    this.#create = create;
    this.#connectMs = connectMs;
    this.#client = this.#next();
    this.#follow(this.#client);
  }

  /** The client of the current attempt or connection. */
  get client(): Client {
    return this.#client;
  }

  close(): void {
    this.#state = 'closed';
    this.#client.close();
  }

  #next(): Client {
    // A shared pool would give the new client the connection that the former one is still trying to make.
    return this.#create({ 'grpc.use_local_subchannel_pool': 1 });
  }

  /** Follows the state of a client until it is replaced or closed. */
  #follow(client: Client): void {
    const channel = client.getChannel();
    const state = channel.getConnectivityState(false);
    let cancel: CancelTimer = () => {};
    channel.watchConnectivityState(state, Infinity, () => {
      cancel();
      if (this.#state === 'open' && client === this.#client) this.#follow(client);
    });
    if (state !== connectivityState.CONNECTING) return;
    cancel = setPatientTimer(this.#clock, this.#connectMs, () => {
      this.#client = this.#next();
      this.#client.getChannel().getConnectivityState(true);
      this.#follow(this.#client);
      client.close();
    });
  }
}
