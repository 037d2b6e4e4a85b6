import type { Ingress } from '@gantry/objects';
import { type Bound, fairShare, Shares } from './bounds.ts';
import { isLeftOut } from './planned-part.ts';

/** The owning namespace of each host, including hosts that are not served. */
export type HostOwners = ReadonlyMap<string, string>;

/** The inputs for the decision on the owners of hosts. */
interface ObservedHosts {
  /** Oldest first. */
  readonly served: readonly Ingress[];
  /** The Ingresses whose class is missing. They keep their hosts, but get no new ones. */
  readonly paused: readonly Ingress[];
  readonly owners: HostOwners;
}

/** The bounds for served hosts. Each host is a key of HAProxy's map. */
const HOSTS: Bound = { each: 500, all: 10_000 };

/**
 * Decides which namespace has a host. A namespace keeps its hosts as long as one of its Ingresses uses them. It also keeps them if an
 * Ingress may use them: the rules of an Ingress that was left out are unknown. Hosts beyond the namespace's share are not served, and no
 * other namespace can serve them either. Only for other hosts does the age of Ingresses decide. The owner of `*.example.com` has all
 * hosts directly below that no other namespace had before.
 */
export class Hosts {
  readonly #owners = new Map<string, string>();
  /** The owners of the hosts that are within their shares. */
  readonly #served = new Map<string, string>();
  readonly #shares: Shares;

  constructor({ served, paused, owners }: ObservedHosts) {
    const named = new Map<Ingress, readonly string[]>(
      [...served, ...paused].map((ingress) => [ingress, hostsOf(ingress)]),
    );
    const ofNamespaces = new Map<string, Set<string>>();
    const withUnknown = new Set<string>();
    for (const [ingress, hosts] of named) {
      const { namespace = '' } = ingress.metadata;
      const all = ofNamespaces.get(namespace) ?? new Set();
      ofNamespaces.set(namespace, all);
      for (const host of hosts) all.add(host);
      if (isLeftOut(ingress)) withUnknown.add(namespace);
    }
    for (const [host, namespace] of owners) {
      const all = ofNamespaces.get(namespace);
      if (all?.has(host) !== true && !withUnknown.has(namespace)) continue;
      this.#owners.set(host, namespace);
      all?.add(host);
    }
    this.#shares = new Shares(
      fairShare(
        [...ofNamespaces.values()].map(({ size }) => size),
        HOSTS,
      ),
    );
    for (const [{ metadata }, hosts] of named) {
      const { namespace = '' } = metadata;
      for (const host of hosts) if (owners.get(host) === namespace) this.#serve(host, namespace);
    }
    // Hosts that only left-out Ingresses may use count before new hosts.
    for (const [host, namespace] of this.#owners) this.#serve(host, namespace);
    for (const ingress of served) {
      const { namespace = '' } = ingress.metadata;
      for (const host of named.get(ingress) ?? []) if (this.#isFree(host, namespace)) this.#serve(host, namespace);
    }
  }

  get owners(): HostOwners {
    return this.#owners;
  }

  /** Whether the namespace has the host and the host is served. */
  has(namespace: string, host: string): boolean {
    return this.#served.get(host) === namespace;
  }

  /** Returns why a namespace does not have a host: the reason and message of an Event. */
  whyNot(namespace: string, host: string): { readonly reason: string; readonly message: string } {
    if (this.#owners.get(host) === namespace || this.#isFree(host, namespace)) {
      return { reason: 'TooManyHosts', message: `the namespace names more than ${this.#shares.share} hosts` };
    }
    const taken = this.#owners.has(host) ? host : wildcardAbove(host);
    const what = taken === ANY_HOST ? 'the rules without a host' : `the host ${JSON.stringify(taken)}`;
    return { reason: 'HostTaken', message: `another namespace has ${what}` };
  }

  /**
   * Returns the hosts whose requests would go to another namespace if no rule has their path. The other namespace has the wildcard above
   * the host, or the rules without a host.
   */
  *closed(): Iterable<string> {
    for (const [host, namespace] of this.#owners) {
      if (host === ANY_HOST) continue;
      const next = this.#owners.get(wildcardAbove(host) ?? ANY_HOST) ?? this.#owners.get(ANY_HOST);
      if (next !== undefined && next !== namespace) yield host;
    }
  }

  #isFree(host: string, namespace: string): boolean {
    if (this.#owners.has(host)) return false;
    const above = wildcardAbove(host);
    return (this.#owners.get(above ?? host) ?? namespace) === namespace;
  }

  #serve(host: string, namespace: string): void {
    if (this.#served.has(host) || !this.#shares.take(namespace)) return;
    this.#served.set(host, namespace);
    this.#owners.set(host, namespace);
  }
}

/** Returns the hosts of an Ingress: from its rules, from its certificates, and all hosts for a default backend without rules. */
function hostsOf({ spec }: Ingress): readonly string[] {
  const { rules = [], tls = [], defaultBackend } = spec ?? {};
  const secured = tls.flatMap(({ hosts = [], secretName = '' }) => (secretName === '' ? [] : hosts));
  const named = [...rules.map(({ host }) => host), ...secured.filter((host) => host !== '')];
  const hosts = new Set(named.flatMap((host) => routeHost(host) ?? []));
  if (rules.length === 0 && defaultBackend !== undefined) hosts.add(ANY_HOST);
  return [...hosts];
}

// The keys of routes consist of a host and a path, as HAProxy looks them up. No other text of users reaches its files and commands.

/** The host of rules without a host. */
export const ANY_HOST = '*';
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const HOST = new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*$`);
const MAX_HOST = 253;
/** The characters of a path in a request by RFC 3986. Other characters are percent-encoded. */
const PATH = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/;
const MAX_PATH = 1024;

/** Returns the host of a rule as its routes have it, or undefined if it is no valid host. */
export function routeHost(host: string | undefined): string | undefined {
  if (host === undefined || host === '') return ANY_HOST;
  const lower = host.toLowerCase();
  return lower.length <= MAX_HOST && HOST.test(lower) ? lower : undefined;
}

/** Returns the wildcard directly above a host, such as `*.example.com` for `a.example.com`. Returns undefined if there is none. */
function wildcardAbove(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot < 0 || host.startsWith('*') ? undefined : `*${host.slice(dot)}`;
}

/** Whether a request can have the path. */
export function isRoutablePath(path: string): boolean {
  return path.length <= MAX_PATH && PATH.test(path);
}

/** Returns the key of requests for exactly this path. */
export function exactKey(host: string, path: string): string {
  return `${host}${path}`;
}

/**
 * Returns the key for a prefix. The prefix matches by path elements if the key begins the request's host and path followed by `/`: `/a`
 * matches `/a` and `/a/b`, but not `/ab`. The longest matching key is the longest prefix.
 */
export function prefixKey(host: string, path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return `${host}${path.slice(0, end)}/`;
}
