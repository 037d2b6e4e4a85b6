import type { Socket } from 'node:net';
import type { Clock } from '@gantry/base';
import { ChannelCredentials, type ClientOptions, InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { Silence } from './silence.ts';

/** When a connection with an open call sends pings, and how long the peer may send nothing. */
export interface Liveness {
  readonly pingMs: number;
  readonly silenceMs: number;
}

/** Credentials and options of one client of grpc-js that has to find a frozen or unreachable server. */
export interface LiveChannel {
  readonly credentials: ChannelCredentials;
  readonly options: ClientOptions;
  /** To be called when the server has shown elsewhere that it lives. */
  heard(): void;
}

/**
 * The library's own limit for the answer to a ping. Its timer counts time in which this process does not run, and fires before bytes that
 * arrived meanwhile are read: it closes good connections on a busy machine. With this value it never fires.
 */
const NEVER_MS = 2 ** 31 - 1;

/** Options for one client: its connections close when the server is silent while a call is open. Other connections send no pings. */
export function liveChannel(
  credentials: ChannelCredentials,
  { pingMs, silenceMs }: Liveness,
  clock: Clock,
): LiveChannel {
  const silence = new Silence(clock, silenceMs);
  let calls = 0;
  const count: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, _, next) => {
        calls += 1;
        silence.start();
        next(metadata, {
          onReceiveStatus: (status, nextStatus) => {
            calls -= 1;
            if (calls === 0) silence.stop();
            nextStatus(status);
          },
        });
      },
    });
  const onConnected = (socket: Socket) => {
    silence.add(socket);
    socket.once('close', () => silence.remove(socket));
  };
  return {
    credentials: new HeardCredentials(credentials, onConnected),
    options: { 'grpc.keepalive_time_ms': pingMs, 'grpc.keepalive_timeout_ms': NEVER_MS, interceptors: [count] },
    heard: () => silence.heard(),
  };
}

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/** Reports the connections of the wrapped credentials. Equals no other credentials, so that no other client shares its connections. */
class HeardCredentials extends ChannelCredentials {
  readonly #inner: ChannelCredentials;
  readonly #onConnected: (socket: Socket) => void;

  constructor(inner: ChannelCredentials, onConnected: (socket: Socket) => void) {
    super();
    this.#inner = inner;
    this.#onConnected = onConnected;
  }

  override _isSecure(): boolean {
    return this.#inner._isSecure();
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>): Connector {
    const connector = this.#inner._createSecureConnector(...args);
    return {
      connect: async (socket) => {
        const connected = await connector.connect(socket);
        this.#onConnected(connected.socket);
        return connected;
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}
