import type { Agent } from 'node:http';
import type { ConnectionOptions } from 'node:tls';

/** Where a backend listens. */
export interface Backend {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Of https. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'ALPNProtocols'>;
  /** Keeps connections; each request has its own when absent. */
  readonly agent?: Agent;
}
