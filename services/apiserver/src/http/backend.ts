import type { Agent } from 'node:http';
import type { ConnectionOptions } from 'node:tls';

/** The address of a backend, and its connection settings. */
export interface Backend {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** TLS options for https. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'ALPNProtocols'>;
  /** Keeps connections open. Without an agent, each request has its own connection. */
  readonly agent?: Agent;
}
