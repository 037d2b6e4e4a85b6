import type { TLSSocket } from 'node:tls';
import { type Clock, pause } from '@gantry/base';
import type { Source } from '../starts.ts';
import type { ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { TlsSource } from '@gantry/tls';
import { PeerTrust, type TrustedPeer } from '../connections/peer-trust.ts';
import { PEER_ENDED } from './call-failures.ts';
import { identityOfCertificate, type PeerIdentity } from './peer-identity.ts';

export type Call = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;

/** Milliseconds between checks of the client certificates of open streams. */
const CHECK_PEERS_MS = 5000;

/** The client of a connection. */
export interface Peer {
  readonly identity: PeerIdentity | undefined;
  readonly certificate: TrustedPeer;
  /** Its open streams. */
  readonly streams: Set<AbortController>;
}

/** The clients of a server with their streams. Identities are decoded once per connection. */
export class Peers {
  readonly #trust: PeerTrust | undefined;
  readonly #clock: Clock;
  /** Peers of open connections. */
  readonly #byAddress = new Map<string, Peer>();
  readonly #streaming = new Set<Peer>();

  constructor({ tls, clock }: { readonly tls: TlsSource | 'insecure'; readonly clock: Clock }) {
    this.#clock = clock;
    this.#trust = tls === 'insecure' ? undefined : new PeerTrust(tls, clock);
  }

  /**
   * Adds a connection whose client certificate TLS has verified. Returns false if it must be closed: calls show only the address and port of
   * their client, so a second connection from these, to another address of this server, could take over the identity of the first.
   */
  connected(socket: TLSSocket): boolean {
    const address = `${socket.remoteAddress}:${socket.remotePort}`;
    if (this.#trust === undefined || socket.remoteAddress === undefined || this.#byAddress.has(address)) return false;
    const certificate = socket.getPeerCertificate();
    this.#byAddress.set(address, {
      identity: identityOfCertificate(certificate),
      certificate: this.#trust.accept(certificate),
      streams: new Set(),
    });
    socket.once('close', () => this.#byAddress.delete(address));
    return true;
  }

  /** The caller: undefined without TLS, 'ended' when the certificate is no longer valid. */
  of(call: Call): Peer | 'ended' | undefined {
    if (this.#trust === undefined) return undefined;
    const peer = this.#byAddress.get(call.getPeer());
    return peer !== undefined && this.#trust.isGood(peer.certificate) ? peer : 'ended';
  }

  /** Ends a stream when its client's certificate ends. Call the returned function when the stream ends by itself. */
  follow(peer: Peer | undefined, stream: AbortController): () => void {
    if (peer === undefined) return () => undefined;
    peer.streams.add(stream);
    this.#streaming.add(peer);
    return () => {
      peer.streams.delete(stream);
      if (peer.streams.size === 0) this.#streaming.delete(peer);
    };
  }

  /** Until aborted, ends the streams of clients whose certificate is no longer valid. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const peer of this.#streaming) {
        if (this.#trust?.isGood(peer.certificate) === false)
          for (const stream of peer.streams) stream.abort(PEER_ENDED);
      }
      await pause(this.#clock, CHECK_PEERS_MS, signal);
    }
  }
}

/** The source whose turn a call uses. */
export function sourceOf(call: Call, peer: Peer | undefined): Source {
  const name = peer?.identity?.commonName;
  return name === undefined ? `address:${addressOf(call.getPeer())}` : `user:${name}`;
}

/** Without the port: `10.0.0.1:40112`, `[::1]:40112`. */
function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '');
}
