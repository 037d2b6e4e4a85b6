import type { Instant } from '@gantry/base';
import type { Cache, InformerEvent } from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@gantry/objects';
import type { Report } from './cluster/reports.ts';
import { certificateGroups } from './haproxy/certificate-store.ts';
import { NOT_FOUND, type ProxyState, routeValue, type Server, serverName, UNAVAILABLE } from './haproxy/proxy-state.ts';
import { Slots } from './haproxy/slots.ts';
import { type Backend, backendId } from './rules/backend.ts';
import { fairShare, SERVERS } from './rules/bounds.ts';
import type { SecretContent } from './rules/certificate.ts';
import { targetsOf } from './rules/endpoints.ts';
import type { HostOwners } from './rules/hosts.ts';
import { type IngressPlan, planIngresses } from './rules/plan.ts';

/** The resources in the caches. */
export const WATCHED_RESOURCES = [INGRESSES, INGRESS_CLASSES, SERVICES, ENDPOINT_SLICES];

export interface ClusterViewOptions {
  readonly cache: Cache;
  readonly secretOf: (namespace: string, name: string) => SecretContent;
  /** The owners of hosts that an earlier process knew. */
  readonly owners: HostOwners;
  /** Whether an endpoint may have the address. */
  readonly mayServe: (address: string) => boolean;
}

/**
 * The wanted state of HAProxy, from the caches. `take` only notes changes. `update` plans once for all of them. It plans the routes again
 * if an Ingress, a class, a Secret or a Service of an Ingress has changed, and the endpoints of changed Services.
 */
export class ClusterView {
  readonly #options: ClusterViewOptions;
  readonly #slots = new Slots();
  readonly #changedServices = new Set<string>();
  #areRoutesChanged = true;
  #plan: IngressPlan | undefined;
  /** Backends by id, and by the key of their Service. */
  #backends = new Map<string, Backend>();
  #byService = new Map<string, Backend[]>();
  #servers = new Map<string, ReadonlyMap<string, Server>>();
  #state: ProxyState | undefined;
  #refusals: Report['refusals'][number][] = [];

  constructor(options: ClusterViewOptions) {
    this.#options = options;
  }

  /** The last plan of routes. */
  get plan(): IngressPlan | undefined {
    return this.#plan;
  }

  /** Why parts of the last state are not served. */
  get refusals(): Report['refusals'] {
    return this.#refusals;
  }

  /** Whether a backend waits for a slot. If so, `update` has to be called again. */
  get isWaiting(): boolean {
    return this.#slots.isShort;
  }

  /**
   * Takes the events of the caches, in order. Bound, so that it can be passed as a listener. Returns whether there is something to do.
   */
  take(event: InformerEvent): boolean {
    if (event.kind !== 'changed') return false;
    let isConcerned = false;
    for (const { object, old } of event.changes) {
      isConcerned = this.#takeOne(event.resource.resource, object, old) || isConcerned;
    }
    return isConcerned;
  }

  /** Notes that a Secret has changed. */
  takeSecret(): void {
    this.#areRoutesChanged = true;
  }

  /** Notes that HAProxy has a new worker, which knows no earlier backends. */
  renewed(): void {
    this.#slots.renewed();
  }

  /** Returns the state after all taken changes. It is the same object if nothing has changed. `now` is monotonic. */
  update(now: Instant): ProxyState {
    if (this.#areRoutesChanged || this.#state === undefined || this.#slots.isShort) return this.#updateRoutes(now);
    if (this.#changedServices.size === 0) return this.#state;
    for (const key of this.#changedServices)
      for (const backend of this.#byService.get(key) ?? []) this.#updateServers(backend);
    this.#changedServices.clear();
    this.#state = {
      ...this.#state,
      servers: this.#serversBySlot(this.#slots.assign(new Set(this.#backends.keys()), now)),
    };
    return this.#state;
  }

  #takeOne(resource: string, object: KubeObject | undefined, old: KubeObject | undefined): boolean {
    switch (resource) {
      case ENDPOINT_SLICES.resource: {
        const keys = [old, object].flatMap((slice) => serviceOf(slice as EndpointSlice | undefined) ?? []);
        const concerned = keys.filter((key) => this.#byService.has(key));
        for (const key of concerned) this.#changedServices.add(key);
        return concerned.length > 0;
      }
      case SERVICES.resource: {
        const { namespace = '', name = '' } = (object ?? old)?.metadata ?? {};
        if (this.#plan?.services.has(`${namespace}/${name}`) !== true) return false;
        break;
      }
      case INGRESSES.resource:
        if (!isRouteChange(object, old)) return false;
        break;
      default:
        break;
    }
    this.#areRoutesChanged = true;
    return true;
  }

  #updateRoutes(now: Instant): ProxyState {
    const { cache, secretOf } = this.#options;
    this.#areRoutesChanged = false;
    const plan = planIngresses({
      ingresses: cache.list(INGRESSES),
      classes: cache.list(INGRESS_CLASSES),
      serviceOf: (namespace, name) => cache.get(SERVICES, { namespace, name }),
      secretOf,
      owners: this.#plan?.owners ?? this.#options.owners,
    });
    this.#plan = plan;
    this.#backends = new Map([...plan.backends].map(([id, { backend }]) => [id, backend]));
    this.#byService = new Map();
    for (const backend of this.#backends.values()) {
      const key = `${backend.namespace}/${backend.service}`;
      this.#byService.set(key, [...(this.#byService.get(key) ?? []), backend]);
    }
    for (const id of this.#servers.keys()) if (!this.#backends.has(id)) this.#servers.delete(id);
    for (const [id, backend] of this.#backends) {
      const isChanged = this.#changedServices.has(`${backend.namespace}/${backend.service}`);
      if (isChanged || !this.#servers.has(id)) this.#updateServers(backend);
    }
    this.#changedServices.clear();
    const slots = this.#slots.assign(new Set(this.#backends.keys()), now);
    const toSlots = (routes: ReadonlyMap<string, Backend | undefined>) =>
      new Map([...routes].map(([key, backend]) => [key, slotOf(backend, slots)]));
    this.#state = {
      slots: this.#slots.size,
      exact: toSlots(plan.exact),
      prefix: new Map([...toSlots(plan.prefix), ...[...plan.closed].map((key) => [key, NOT_FOUND] as const)]),
      servers: this.#serversBySlot(slots),
      certificates: certificateGroups(plan.certificates),
    };
    return this.#state;
  }

  #updateServers(backend: Backend): void {
    const { cache, mayServe } = this.#options;
    const labelled = cache.labelled(ENDPOINT_SLICES, backend.namespace, { [SERVICE_NAME_LABEL]: backend.service });
    const slices = labelled.filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === backend.service);
    const servers = [...targetsOf(backend, slices, mayServe)].map(
      (target): Server => ({ target, protocol: backend.protocol }),
    );
    this.#servers.set(backendId(backend), new Map(servers.map((server) => [serverName(server), server])));
  }

  /** Returns the servers of each slot, up to the limit of its namespace. */
  #serversBySlot(slots: ReadonlyMap<string, string>): ReadonlyMap<string, ReadonlyMap<string, Server>> {
    this.#refusals = [...(this.#plan?.refusals ?? [])];
    const mostOf = serverLimits(this.#backends, this.#servers);
    const found = new Map<string, ReadonlyMap<string, Server>>();
    for (const [id, { namespace }] of this.#backends) {
      const slot = slots.get(id);
      const servers = this.#servers.get(id) ?? new Map<string, Server>();
      const most = mostOf.get(namespace) ?? 0;
      if (slot === undefined)
        this.#refuse(id, 'TooManyBackends', 'it waits until a backend that was used before has rested');
      else if (servers.size <= most) found.set(slot, servers);
      else {
        found.set(slot, new Map([...servers].slice(0, most)));
        this.#refuse(id, 'TooManyEndpoints', `only ${most} of its ${servers.size} endpoints get requests`);
      }
    }
    return found;
  }

  #refuse(id: string, reason: string, why: string): void {
    const used = this.#plan?.backends.get(id);
    if (used === undefined) return;
    const message = `the Service ${JSON.stringify(used.backend.service)}: ${why}`;
    this.#refusals.push({ ingress: used.ingress, refusal: { reason, message } });
  }
}

function slotOf(backend: Backend | undefined, slots: ReadonlyMap<string, string>): string {
  const slot = backend === undefined ? undefined : slots.get(backendId(backend));
  return backend === undefined || slot === undefined ? UNAVAILABLE : routeValue(slot, backend.namespace);
}

/** Returns how many servers each backend of a namespace may have. */
function serverLimits(
  backends: ReadonlyMap<string, Backend>,
  servers: ReadonlyMap<string, ReadonlyMap<string, Server>>,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number[]>();
  for (const [id, { namespace }] of backends) {
    const all = sizes.get(namespace) ?? [];
    sizes.set(namespace, all);
    all.push(servers.get(id)?.size ?? 0);
  }
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const share = fairShare([...sizes.values()].map(sum), SERVERS);
  return new Map([...sizes].map(([namespace, all]) => [namespace, fairShare(all, { each: share, all: share })]));
}

function serviceOf(slice: EndpointSlice | undefined): string | undefined {
  const name = slice?.metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${slice?.metadata.namespace ?? ''}/${name}`;
}

/**
 * Whether the serving of an Ingress may change. It does not change if only its status has changed; this service writes the status itself.
 */
function isRouteChange(object: KubeObject | undefined, old: KubeObject | undefined): boolean {
  if (object === undefined || old === undefined) return true;
  const rank = ({ metadata }: KubeObject) => [metadata.uid, metadata.generation, metadata.annotations];
  return JSON.stringify(rank(object)) !== JSON.stringify(rank(old));
}
