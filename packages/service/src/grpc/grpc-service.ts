import type { serviceDefinition } from '@gantry/proto';
import type { PeerIdentity } from './peer-identity.ts';

/** What a handler knows about its call besides the request. */
export interface GrpcCall {
  /** Aborted when the client disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** From the verified client certificate; undefined only on a server without TLS. */
  readonly identity: PeerIdentity | undefined;
  /** First value of a request header, as text. */
  header(name: string): string | undefined;
}

/** The gRPC form of an error. Trailers whose name ends in `-bin` are bytes. */
export interface GrpcError {
  readonly code: number;
  readonly message: string;
  readonly trailers: Readonly<Record<string, string | Buffer>>;
}

/** One method of a service; requests and responses are generated messages. A response may also be the bytes of an encoded message. */
export type GrpcHandler =
  | { readonly kind: 'unary'; readonly handle: (request: never, call: GrpcCall) => Promise<object> }
  | { readonly kind: 'stream'; readonly handle: (request: never, call: GrpcCall) => AsyncIterable<object> };

/** A service with a handler for each method. */
export interface GrpcService {
  readonly descriptor: Parameters<typeof serviceDefinition>[0];
  /** By the method's name in camel case; one for each method. */
  readonly handlers: Readonly<Record<string, GrpcHandler>>;
}
