import { createHash } from 'node:crypto';
import { createConnection } from 'node:net';
import { type Clock, pause } from '@gantry/base';
import type { BackendProtocol } from '../rules/backend.ts';

/** The wanted state of HAProxy. Its files and commands are generated from it. */
export interface ProxyState {
  /** The number of backends in the configuration. Each is a slot. */
  readonly slots: number;
  /** Slots with tenants, as `routeValue` formats them, by the keys of routes. */
  readonly exact: ReadonlyMap<string, string>;
  readonly prefix: ReadonlyMap<string, string>;
  /** Servers by slot and by their name. */
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, Server>>;
  /** By the name of their file. */
  readonly certificates: ReadonlyMap<string, HostCertificate>;
}

/** An endpoint as a server of a backend. */
export interface Server {
  /** `10.128.4.7:8080`. */
  readonly target: string;
  readonly protocol: BackendProtocol;
}

/** A certificate and some of its hosts. A host may be a wildcard for all names directly below another name: `*.example.com`. */
export interface HostCertificate {
  readonly hosts: readonly string[];
  readonly pem: string;
}

/** The backend of routes whose Service or port does not exist. It has no server. */
export const UNAVAILABLE = 'unavailable';

/**
 * Returns the value of a route's key: the slot, and the namespace whose requests are counted together. HAProxy's names contain no users'
 * text, so the namespace is a hash. 16 digits are enough to distinguish all namespaces of a cluster.
 */
export function routeValue(slot: string, namespace: string): string {
  return `${slot}.${createHash('sha256').update(namespace).digest('hex').slice(0, 16)}`;
}

/** The value of a route's key that ends the look-up with 404. */
export const NOT_FOUND = 'none';

/** Returns the name of a server in its backend. */
export function serverName({ target, protocol }: Server): string {
  return `${target.replace(':', '_')}_${protocol}`;
}

const OPTIONS = { http: '', h2c: ' proto h2', https: ' ssl verify none' } as const;

/**
 * Returns the address of a server and its protocol options, for the configuration and for the command `add server`. Unused connections
 * are closed soon, because many servers close them after five seconds.
 */
export function serverArguments({ target, protocol }: Server): string {
  return `${target} pool-purge-delay 2s${OPTIONS[protocol]}`;
}

const ANSWER_MS = 30_000;
/** Long enough for a start with many backends on a busy machine. */
const START_MS = 60_000;
const POLL_MS = 20;
/** The errors of a socket that HAProxy has not created yet, or does not listen on yet. */
const NOT_YET: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED'];

/** HAProxy does not do what it was asked to do. */
export class HaproxyError extends Error {
  override readonly name = 'HaproxyError';
}

/** Sends a command with its payload to a socket of HAProxy and returns the response. */
export function ask(socket: string, line: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  const connection = createConnection({ path: socket, signal });
  connection.setTimeout(ANSWER_MS, () => connection.destroy(new HaproxyError(`no answer within ${ANSWER_MS} ms`)));
  connection.on('data', (part: Buffer) => parts.push(part));
  connection.on('error', reject);
  connection.on('close', () => resolve(Buffer.concat(parts).toString('utf8').trim()));
  connection.end(`${line}\n`);
  return promise;
}

/** Waits until HAProxy answers at a socket. Fails if it does not answer within a minute, or immediately if it never will. */
export async function untilAnswering(socket: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const until = clock.monotonicMs() + START_MS;
  for (;;) {
    try {
      await ask(socket, 'show version', signal);
      return;
    } catch (error) {
      const isNotYet = NOT_YET.includes((error as NodeJS.ErrnoException).code);
      if (signal.aborted || !isNotYet || clock.monotonicMs() > until) throw error;
    }
    await pause(clock, POLL_MS, signal);
  }
}
