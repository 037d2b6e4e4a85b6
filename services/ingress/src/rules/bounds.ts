import type { Ingress, IngressBackend } from '@gantry/objects';

/*
 * Of one namespace and of all together. What they cost in HAProxy and in this process is in decision 19: with all of it both fit the memory
 * of the container.
 */
/** Each is a line of a map: in HAProxy, in its files, and three times in this process. */
const ROUTES: Bound = { each: 2000, all: 20_000 };
/** Each is a slot. */
const BACKENDS: Bound = { each: 500, all: 2000 };
/** Each is a watch, and a certificate in HAProxy. */
const SECRETS: Bound = { each: 200, all: 1000 };
/** Endpoints of backends. */
export const SERVERS: Bound = { each: 2000, all: 10_000 };
/** Characters of a route that count as one. */
const ROUTE_LENGTH = 256;

/** How many routes a route counts as: long ones take the memory of several. */
export function routeCost(key: string): number {
  return 1 + Math.floor(key.length / ROUTE_LENGTH);
}

/** What namespaces may have in one plan. */
export interface PlanShares {
  readonly routes: Shares;
  readonly backends: Shares;
  readonly secrets: Shares;
}

/** The shares of these Ingresses' namespaces, by what all of them name. */
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

/** What one namespace may have of a thing, and all of them together. */
export interface Bound {
  readonly each: number;
  readonly all: number;
}

/**
 * The largest equal share, at most `each`, with which all namespaces together take no more than `all`, by what each of them wants.
 * A namespace that wants less than that loses nothing, however much others want.
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

/** Counts what namespaces take of a thing, up to their share. */
export class Shares {
  readonly #share: number;
  readonly #taken = new Map<string, number>();

  constructor(share: number) {
    this.#share = share;
  }

  /** What each namespace may have. */
  get share(): number {
    return this.#share;
  }

  /** Takes `amount` for the namespace, or nothing where that is beyond its share. Returns whether it was taken. */
  take(namespace: string, amount = 1): boolean {
    const taken = (this.#taken.get(namespace) ?? 0) + amount;
    if (taken > this.#share) return false;
    this.#taken.set(namespace, taken);
    return true;
  }
}
