import { type ClientDuplexStream, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Clock } from '@gantry/base';
import type { TlsMaterial } from '@gantry/tls';
import { noop } from 'cockatiel';
import { Etcd3 } from 'etcd3';
import { EtcdError } from '../etcd-error.ts';
import { fromServiceError } from './vendor-error.ts';

/** The gRPC services of etcd that are used. */
export type EtcdService = 'KV' | 'Watch' | 'Lease' | 'Maintenance' | 'Auth';

/** One call. `effect`: a read may be repeated; a write may not. */
export interface UnaryCall {
  readonly service: EtcdService;
  readonly method: string;
  readonly payload: object;
  readonly effect: 'read' | 'write';
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

type UnaryMethod = (
  payload: object,
  metadata: Metadata,
  options: object,
  callback: (error: ServiceError | null, response: never) => void,
) => { cancel(): void };
type StreamMethod = (metadata: Metadata, options: object) => ClientDuplexStream<object, never>;

/** The used part of the vendor's connection pool, which is not in its type declarations. */
interface VendorPool {
  /** One for each host of the client: here always one. */
  readonly hosts: readonly { getServiceClient(service: EtcdService): VendorClient }[];
}

type VendorClient = Readonly<Record<string, unknown>>;

/**
 * Pings detect a frozen member within 3 s while a call or a watch is open. Without one there are no pings: etcd takes them
 * for an attack and closes the connection, whatever its minimum interval. Reconnecting starts at once, with short delays.
 * Messages may be as large as a range of all keys.
 */
const CHANNEL_OPTIONS = {
  'grpc.keepalive_time_ms': 2000,
  'grpc.keepalive_timeout_ms': 1000,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.min_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // Records of every call and connection, which are not used.
  'grpc.enable_channelz': 0,
} as const;

/** A connection to one member. The vendor's retries and circuit breakers are off: they cause false conflicts and outages. */
export class MemberConnection {
  readonly endpoint: string;
  readonly #clock: Clock;
  #client: Etcd3;

  constructor(endpoint: string, tls: TlsMaterial | undefined, clock: Clock) {
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#client = createClient(endpoint, tls);
  }

  /** Reconnects with other TLS material. Open calls continue; streams of the old connection end. */
  useTls(tls: TlsMaterial): void {
    const old = this.#client;
    this.#client = createClient(this.endpoint, tls);
    old.close();
  }

  async call<T>(call: UnaryCall): Promise<T> {
    call.signal.throwIfAborted();
    const failure = (error: ServiceError) => fromServiceError(error, call.effect, this.endpoint);
    const client = this.#clientOf(call.service);
    return new Promise<T>((resolve, reject) => {
      const deadline = this.#clock.now() + call.timeoutMs;
      const method = client[call.method] as UnaryMethod;
      const sent = method.call(client, call.payload, new Metadata(), { deadline }, (error, response) => {
        call.signal.removeEventListener('abort', onAbort);
        if (error === null) resolve(response);
        else reject(call.signal.aborted ? abortReason(call.signal) : failure(error));
      });
      const onAbort = () => {
        reject(abortReason(call.signal));
        sent.cancel();
      };
      call.signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Opens a stream. The caller cancels it after use. */
  async stream<Response>(service: EtcdService, method: string): Promise<ClientDuplexStream<object, Response>> {
    const client = this.#clientOf(service);
    const metadata = new Metadata();
    // A member without a leader ends the stream instead of staying silent.
    metadata.set('hasleader', 'true');
    const stream = (client[method] as StreamMethod).call(client, metadata, {});
    stream.on('error', () => {}); // The stream's reader gets the error as well; without a listener it would end the process.
    return stream;
  }

  close(): void {
    this.#client.close();
  }

  /** Bypasses the vendor's authentication, host selection and policies: they are not needed here and cost time. */
  #clientOf(service: EtcdService): VendorClient {
    const { pool } = this.#client as unknown as { readonly pool: VendorPool };
    const host = pool.hosts[0];
    if (host === undefined) throw new EtcdError('unavailable', `${this.endpoint}: the connection has no host`);
    return host.getServiceClient(service);
  }
}

function createClient(endpoint: string, tls: TlsMaterial | undefined): Etcd3 {
  return new Etcd3({
    hosts: endpoint,
    faultHandling: { host: () => noop, global: noop },
    grpcOptions: CHANNEL_OPTIONS,
    ...(tls === undefined
      ? {}
      : { credentials: { rootCertificate: tls.ca, privateKey: tls.key, certChain: tls.cert } }),
  });
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new EtcdError('unavailable', 'aborted', { cause: signal.reason });
}
