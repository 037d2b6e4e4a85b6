import { formatKey, type Ingress, type IngressBackend, type IngressClass, keyOf, type Service } from '@gantry/objects';
import { type Backend, backendId, findBackend, type Refusal } from './backend.ts';
import { type PlanShares, routeCost, sharesOf } from './bounds.ts';
import type { SecretContent } from './certificate.ts';
import { isClassMissing, isServed } from './classes.ts';
import { ANY_HOST, exactKey, type HostOwners, Hosts, isRoutablePath, prefixKey, routeHost } from './hosts.ts';
import { isLeftOut } from './planned-part.ts';

/** The inputs for routes and certificates. */
export interface ObservedIngresses {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  readonly serviceOf: (namespace: string, name: string) => Service | undefined;
  readonly secretOf: (namespace: string, name: string) => SecretContent;
  /** The owners in the last plan. A host stays with its owner. */
  readonly owners: HostOwners;
}

/** The served parts of the Ingresses, and the refused parts. */
export interface IngressPlan {
  /** Backends by the keys of `exactKey` and `prefixKey`. A route without a backend answers that nothing is available. */
  readonly exact: ReadonlyMap<string, Backend | undefined>;
  readonly prefix: ReadonlyMap<string, Backend | undefined>;
  /** All backends of routes by id, each with an Ingress that leads to it. */
  readonly backends: ReadonlyMap<string, { readonly backend: Backend; readonly ingress: Ingress }>;
  /** The prefixes at which the look-up of a host ends with 404, because the next match would belong to another namespace. */
  readonly closed: ReadonlySet<string>;
  readonly owners: HostOwners;
  /** PEM by host. */
  readonly certificates: ReadonlyMap<string, string>;
  /** `namespace/name` of the objects that the plan looked up, whether or not they exist. */
  readonly services: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  /** The Ingresses of this controller, oldest first. */
  readonly served: readonly Ingress[];
  readonly refusals: readonly { readonly ingress: Ingress; readonly refusal: Refusal }[];
}

/** The maximum number of Events with the same reason for one Ingress in one plan. */
const MAX_REFUSALS = 20;

/**
 * Decides where every host and path leads. A host, with its paths and its certificate, belongs to one namespace (see `Hosts`), so an
 * Ingress cannot take over another namespace's host by using it. If two Ingresses of a namespace claim the same thing, the older one has
 * it. A mistake in an Ingress affects only the part with the mistake.
 */
export function planIngresses(observed: ObservedIngresses): IngressPlan {
  const { ingresses, classes, owners } = observed;
  const served = ingresses.filter((ingress) => isServed(ingress, classes)).toSorted(byAge);
  const paused = ingresses.filter((ingress) => isClassMissing(ingress, classes)).toSorted(byAge);
  const hosts = new Hosts({ served, paused, owners });
  const planner = new Planner(observed, hosts, sharesOf(served));
  for (const ingress of served) planner.addRules(ingress);
  // This comes after all rules: a host's default backend takes only requests that no rule of any Ingress takes.
  for (const ingress of served) planner.addDefaultBackend(ingress);
  for (const ingress of served) planner.addCertificates(ingress);
  const ends = [...hosts.closed()].map((host) => prefixKey(host, '/'));
  const closed = new Set(ends.filter((key) => !planner.plan.prefix.has(key)));
  return { ...planner.plan, closed, owners: hosts.owners, served };
}

function byAge(one: Ingress, other: Ingress): number {
  const rank = ({ metadata }: Ingress) => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const name = (ingress: Ingress) => formatKey(keyOf(ingress));
  return rank(one) - rank(other) || (name(one) < name(other) ? -1 : 1);
}

class Planner {
  readonly plan = {
    exact: new Map<string, Backend | undefined>(),
    prefix: new Map<string, Backend | undefined>(),
    /** One object per backend, however many routes lead to it. */
    backends: new Map<string, { readonly backend: Backend; readonly ingress: Ingress }>(),
    certificates: new Map<string, string>(),
    services: new Set<string>(),
    secrets: new Set<string>(),
    refusals: [] as { readonly ingress: Ingress; readonly refusal: Refusal }[],
  };
  readonly #observed: ObservedIngresses;
  readonly #hosts: Hosts;
  /** The Ingress that has a route, or the certificate of a host. */
  readonly #owners = new Map<string, Ingress>();
  readonly #secretsOf = new Map<string, Set<string>>();
  readonly #shares: PlanShares;
  readonly #refusalsOf = new Map<string, number>();

  constructor(observed: ObservedIngresses, hosts: Hosts, shares: PlanShares) {
    this.#shares = shares;
    this.#observed = observed;
    this.#hosts = hosts;
  }

  addRules(ingress: Ingress): void {
    const { namespace = '' } = ingress.metadata;
    const { routes } = this.#shares;
    if (isLeftOut(ingress)) {
      this.#refuse(
        ingress,
        'TooManyRoutes',
        'spec: it is not read, since the Ingresses of the namespace name too much',
      );
    }
    for (const [index, { host, http }] of (ingress.spec?.rules ?? []).entries()) {
      const where = `spec.rules[${index}]`;
      const onHost = this.#ownHost(ingress, `${where}.host`, host);
      if (onHost === undefined) continue;
      for (const [at, { path = '/', pathType, backend }] of (http?.paths ?? []).entries()) {
        const field = `${where}.http.paths[${at}]`;
        if (!routes.take(namespace, routeCost(`${onHost}${path}`))) {
          this.#refuse(ingress, 'TooManyRoutes', `${field}: the namespace has more than ${routes.share} routes`);
          return;
        }
        if (isRoutablePath(path)) this.#route(ingress, field, { host: onHost, path, pathType, backend });
        else {
          const rule = 'a path consists of / and at most 1023 characters of RFC 3986; others must be percent-encoded';
          this.#refuse(ingress, 'InvalidPath', `${field}.path: ${JSON.stringify(path).slice(0, 200)}: ${rule}`);
        }
      }
    }
  }

  /** Adds the default backend for the hosts of its rules, or for all hosts if there are no rules. */
  addDefaultBackend(ingress: Ingress): void {
    const { defaultBackend, rules = [] } = ingress.spec ?? {};
    if (defaultBackend === undefined) return;
    const named = rules.flatMap(({ host }) => routeHost(host) ?? []);
    const { namespace = '' } = ingress.metadata;
    if (rules.length === 0) this.#ownHost(ingress, 'spec.defaultBackend', undefined);
    let backend: Backend | undefined | 'unresolved' = 'unresolved';
    for (const host of new Set(rules.length === 0 ? [ANY_HOST] : named)) {
      const key = prefixKey(host, '/');
      if (this.plan.prefix.has(key) || !this.#hosts.has(namespace, host)) continue;
      if (backend === 'unresolved') backend = this.#resolve(ingress, 'spec.defaultBackend', defaultBackend);
      this.plan.prefix.set(key, backend);
    }
  }

  addCertificates(ingress: Ingress): void {
    for (const [index, { hosts = [], secretName = '' }] of (ingress.spec?.tls ?? []).entries()) {
      if (secretName === '') continue;
      const field = `spec.tls[${index}]`;
      const wanted = hosts.length > 0 ? hosts : (ingress.spec?.rules ?? []).map(({ host = '' }) => host);
      if (wanted.every((host) => host === '')) {
        this.#refuse(
          ingress,
          'HostMissing',
          `${field}.hosts: a certificate is served for hosts that this names, or that rules name`,
        );
      }
      const named = wanted.filter((host) => host !== '');
      const claimed = named.flatMap((host) => this.#claimHost(ingress, field, host));
      if (claimed.length > 0) this.#certify(ingress, field, secretName, claimed);
    }
  }

  #route(
    ingress: Ingress,
    field: string,
    { host, path, pathType, backend }: { host: string; path: string; pathType: string; backend: IngressBackend },
  ): void {
    const [routes, key] =
      pathType === 'Exact' ? [this.plan.exact, exactKey(host, path)] : [this.plan.prefix, prefixKey(host, path)];
    if (!this.#claim(`${pathType === 'Exact' ? 'exact' : 'prefix'} ${key}`, ingress)) {
      this.#refuse(ingress, 'HostPathTaken', `${field}: an older rule has the same host and path`);
      return;
    }
    routes.set(key, this.#resolve(ingress, `${field}.backend`, backend));
  }

  /** Returns whether the claim is the first one. A second claim of the same Ingress is refused too. */
  #claim(key: string, ingress: Ingress): boolean {
    if (this.#owners.has(key)) return false;
    this.#owners.set(key, ingress);
    return true;
  }

  /**
   * Returns the host of a field in the form of keys. If it is no valid host, or the namespace does not have it, adds a refusal and
   * returns undefined.
   */
  #ownHost(ingress: Ingress, field: string, name: string | undefined): string | undefined {
    const { namespace = '' } = ingress.metadata;
    const host = routeHost(name);
    if (host === undefined) this.#refuse(ingress, 'InvalidHost', `${field}: ${JSON.stringify(name)} is no host name`);
    else if (!this.#hosts.has(namespace, host)) {
      const { reason, message } = this.#hosts.whyNot(namespace, host);
      this.#refuse(ingress, reason, `${field}: ${message}`);
    } else return host;
    return undefined;
  }

  #claimHost(ingress: Ingress, field: string, name: string): readonly string[] {
    const host = this.#ownHost(ingress, `${field}.hosts`, name);
    if (host === undefined) return [];
    if (this.#claim(`certificate ${host}`, ingress)) return [host];
    // If an Ingress uses a host twice, this affects no other Ingress.
    if (this.#owners.get(`certificate ${host}`) !== ingress) {
      this.#refuse(ingress, 'HostTaken', `${field}: an older Ingress has the certificate of ${JSON.stringify(host)}`);
    }
    return [];
  }

  #certify(ingress: Ingress, field: string, name: string, hosts: readonly string[]): void {
    const { namespace = '' } = ingress.metadata;
    const known = this.#secretsOf.get(namespace) ?? new Set<string>();
    this.#secretsOf.set(namespace, known);
    const { secrets } = this.#shares;
    if (!known.has(name) && !secrets.take(namespace)) {
      const message = `${field}: the namespace has more than ${secrets.share} Secrets with certificates`;
      this.#refuse(ingress, 'TooManySecrets', message);
      return;
    }
    known.add(name);
    this.plan.secrets.add(`${namespace}/${name}`);
    const content = this.#observed.secretOf(namespace, name);
    const secret = `${field}: the Secret ${JSON.stringify(name)}`;
    switch (content.kind) {
      case 'certificate':
        for (const host of hosts) this.plan.certificates.set(host, content.pem);
        break;
      case 'missing':
        this.#refuse(ingress, 'SecretNotFound', `${secret} does not exist`);
        break;
      case 'unusable':
        this.#refuse(ingress, 'InvalidCertificate', `${secret} has no usable certificate: ${content.why}`);
        break;
      case 'unknown':
        break;
    }
  }

  #resolve(ingress: Ingress, field: string, backend: IngressBackend): Backend | undefined {
    const { namespace = '' } = ingress.metadata;
    if (backend.service !== undefined) this.plan.services.add(`${namespace}/${backend.service.name}`);
    const found = findBackend(namespace, backend, this.#observed.serviceOf);
    if ('reason' in found) {
      this.#refuse(ingress, found.reason, `${field}: ${found.message}`);
      return undefined;
    }
    const id = backendId(found);
    const known = this.plan.backends.get(id);
    if (known !== undefined) return known.backend;
    const { backends } = this.#shares;
    if (!backends.take(namespace)) {
      const message = `${field}: the namespace leads to more than ${backends.share} ports of Services`;
      this.#refuse(ingress, 'TooManyBackends', message);
      return undefined;
    }
    this.plan.backends.set(id, { backend: found, ingress });
    return found;
  }

  #refuse(ingress: Ingress, reason: string, message: string): void {
    const about = `${formatKey(keyOf(ingress))} ${reason}`;
    const count = (this.#refusalsOf.get(about) ?? 0) + 1;
    this.#refusalsOf.set(about, count);
    if (count <= MAX_REFUSALS) this.plan.refusals.push({ ingress, refusal: { reason, message } });
  }
}
