import { createHash } from 'node:crypto';
import { createConnection } from 'node:net';
import { type Clock, pause } from '@gantry/base';
import type { BackendProtocol } from '../rules/backend.ts';

/** What HAProxy is to do; its files and commands are made of it. */
export interface ProxyState {
  /** How many backends the configuration has; each is a slot. */
  readonly slots: number;
  /** Slots with tenants, as `routeValue` gives them, by keys of routes. */
  readonly exact: ReadonlyMap<string, string>;
  readonly prefix: ReadonlyMap<string, string>;
  /** Servers by slot, each by its name. */
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

/** A certificate and some of its hosts, of which one may be all names right below another: `*.example.com`. */
export interface HostCertificate {
  readonly hosts: readonly string[];
  readonly pem: string;
}

/** The backend of routes whose Service or port does not exist: it has no server. */
export const UNAVAILABLE = 'unavailable';

/**
 * What a key of routes leads to: the slot, and the namespace whose requests are counted together. HAProxy's names are no text of users: the
 * namespace is its hash, of which 16 digits tell all namespaces of a cluster apart.
 */
export function routeValue(slot: string, namespace: string): string {
  return `${slot}.${createHash('sha256').update(namespace).digest('hex').slice(0, 16)}`;
}

/** The value of a route's key that ends the lookup with 404. */
export const NOT_FOUND = 'none';

/** The name of a server in its backend. */
export function serverName({ target, protocol }: Server): string {
  return `${target.replace(':', '_')}_${protocol}`;
}

const OPTIONS = { http: '', h2c: ' proto h2', https: ' ssl verify none' } as const;

/**
 * The address of a server, and how it is spoken to, as the configuration and the command `add server` have it. Unused connections are
 * closed soon: many servers close them after five seconds.
 */
export function serverArguments({ target, protocol }: Server): string {
  return `${target} pool-purge-delay 2s${OPTIONS[protocol]}`;
}

const ANSWER_MS = 30_000;
/** For a start with many backends on a busy machine. */
const START_MS = 60_000;
const POLL_MS = 20;
/** Errors of a socket that HAProxy has not made yet, or does not listen on yet. */
const NOT_YET: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED'];

/** HAProxy does not do what it was asked. */
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

/** Waits until HAProxy answers at a socket. Fails where it does not within a minute, and at once where it never will. */
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
