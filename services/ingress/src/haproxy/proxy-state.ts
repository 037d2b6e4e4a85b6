import { createHash } from 'node:crypto';
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
