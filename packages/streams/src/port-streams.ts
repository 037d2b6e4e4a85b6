import type { Duplex, Writable } from 'node:stream';

/** One connection that a client wants to a port of a pod. */
export interface PortStreams {
  readonly port: number;
  readonly data: Duplex;
  /** Takes a text when the connection cannot be made, or breaks. */
  readonly error: Writable;
}

/** Serves one connection. Must not throw, and must end both streams. */
export type ServePort = (streams: PortStreams) => void;
