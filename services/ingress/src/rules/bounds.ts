import type { Ingress, IngressBackend } from '@gantry/objects';

/*
 * Bounds for one namespace and for all together. Decision 19 has their costs in HAProxy and in this process. With all of them used up,
 * both processes fit in the container's memory.
 */
/** Each route is a line of a map: in HAProxy, in its files, and three times in this process. */
const ROUTES: Bound = { each: 2000, all: 20_000 };
/** Each backend is a slot. */
const BACKENDS: Bound = { each: 500, all: 2000 };
/** Each Secret is a watch, and a certificate in HAProxy. */
const SECRETS: Bound = { each: 200, all: 1000 };
/** Endpoints of backends. */
export const SERVERS: Bound = { each: 2000, all: 10_000 };
/** This number of characters of a route counts as one route. */
const ROUTE_LENGTH = 256;

/** Returns how many routes a route counts as. Long routes use the memory of several. */
export function routeCost(key: string): number {
  return 1 + Math.floor(key.length / ROUTE_LENGTH);
}

/** The shares of namespaces in one plan. */
export interface PlanShares {
  readonly routes: Shares;
  readonly backends: Shares;
  readonly secrets: Shares;
}

/** Returns the shares of these Ingresses' namespaces, from everything that the Ingresses use. */
export function sharesOf(ingresses: readonly Ingress[]): PlanShares {
  const wanted = new Map<string, { routes: number; readonly backends: Set<string>; readonly secrets: Set<string> }>();
  for (const { metadata, spec } of ingresses) {
    const { namespace = '' } = metadata;
    const of = wanted.get(namespace) ?? { routes: 0, backends: new Set(), secrets: new Set() };
    wanted.set(namespace, of);
    for (const { secretName = '' } of spec?.tls ?? []) of.secrets.add(secretName);
    if (spec?.defaultBackend !== undefined) of.backends.add(nameOf(spec.defaultBackend));
    for (const { host = '', http } of spec?.rules ?? []) {
      for (const { path = '', backend } of http?.paths ?? []) {
        of.routes += routeCost(`${host}${path}`);
        of.backends.add(nameOf(backend));
      }
    }
  }
  const all = [...wanted.values()];
  const share = (bound: Bound, numbers: readonly number[]) => new Shares(fairShare(numbers, bound));
  return {
    routes: share(
      ROUTES,
      all.map(({ routes }) => routes),
    ),
    backends: share(
      BACKENDS,
      all.map(({ backends }) => backends.size),
    ),
    secrets: share(
      SECRETS,
      all.map(({ secrets }) => secrets.size),
    ),
  };
}

function nameOf({ service }: IngressBackend): string {
  return `${service?.name ?? ''} ${service?.port?.name ?? ''} ${service?.port?.number ?? ''}`;
}

/** The bounds of a kind of thing: for one namespace, and for all namespaces together. */
export interface Bound {
  readonly each: number;
  readonly all: number;
}

/**
 * Returns the largest equal share, at most `each`, with which all namespaces together take no more than `all`. `wanted` is what each
 * namespace wants. A namespace that wants less than the share loses nothing, however much others want.
 */
export function fairShare(wanted: Iterable<number>, { each, all }: Bound): number {
  const sorted = [...wanted].map((number) => Math.min(number, each)).toSorted((one, other) => one - other);
  let left = all;
  for (const [index, number] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (number > share) return share;
    left -= number;
  }
  return each;
}

/** Counts how much each namespace takes of a kind of thing, up to its share. */
export class Shares {
  readonly #share: number;
  readonly #taken = new Map<string, number>();

  constructor(share: number) {
    this.#share = share;
  }

  /** The share of each namespace. */
  get share(): number {
    return this.#share;
  }

  /** Takes `amount` for the namespace, or nothing if that exceeds its share. Returns whether it was taken. */
  take(namespace: string, amount = 1): boolean {
    const taken = (this.#taken.get(namespace) ?? 0) + amount;
    if (taken > this.#share) return false;
    this.#taken.set(namespace, taken);
    return true;
  }
}
