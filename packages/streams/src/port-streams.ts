import type { Duplex, Writable } from 'node:stream';

/** One connection of a client to a port of a pod. */
export interface PortStreams {
  readonly port: number;
  readonly data: Duplex;
  /** For a message when the connection fails. */
  readonly error: Writable;
}

/** Serves one connection. Must not throw, and must end both streams. */
export type ServePort = (streams: PortStreams) => void;
