import type { Cache, ChangeLoop, InformerEvent, ObjectChange } from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  formatKey,
  isFinalPhase,
  keyOf,
  type KubeObject,
  NAMESPACES,
  type Pod,
  PODS,
  type Service,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@gantry/objects';
import type { ClusterState, EndpointName, ServedPorts, ServiceEndpoints } from './cluster-state.ts';
import { CountedValues, IndexedEndpoints, servedEndpoints, servedPorts, valueAt } from './service-endpoints.ts';
import { clusterAddress } from './service-records.ts';

/** The resources that the zone is built from. */
export const ZONE_RESOURCES = [SERVICES, ENDPOINT_SLICES, NAMESPACES, PODS];

/** The cluster in the caches, with indexes by address. If the API server cannot be reached, it keeps the last known state. */
export class CachedState implements ClusterState {
  readonly #cache: Cache;
  readonly #services = new AddressIndex();
  /** By namespace and Service. */
  readonly #endpoints = new Map<string, IndexedEndpoints>();
  /** The names of endpoints, by address. */
  readonly #names = new Map<string, CountedValues>();
  readonly #ports = new WeakMap<Service, ServedPorts>();
  /** By namespace and address. */
  readonly #pods = new AddressIndex();
  #generation = 0;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** Grows with every change that may change the records of a name. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes the events of the caches, in order. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    for (const change of event.changes) if (this.#apply(event.resource.resource, change)) this.#generation += 1;
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#cache.get(SERVICES, { namespace, name });
  }

  ports(service: Service): ServedPorts {
    const known = this.#ports.get(service) ?? servedPorts(service.spec?.ports ?? []);
    this.#ports.set(service, known);
    return known;
  }

  endpoints(namespace: string, service: string): ServiceEndpoints {
    return this.#endpoints.get(`${namespace}/${service}`) ?? NO_ENDPOINTS;
  }

  hasNamespace(name: string): boolean {
    return this.#cache.get(NAMESPACES, { namespace: '', name }) !== undefined;
  }

  hasPod(namespace: string, address: string): boolean {
    return this.#pods.has(podKey(namespace, address));
  }

  servicesAt(address: string): readonly Service[] {
    return this.#services.at(address);
  }

  *endpointsAt(address: string): Iterable<EndpointName> {
    for (const name of this.#names.get(address)?.values ?? []) {
      const [label = '', service = '', namespace = ''] = name.split('.');
      yield { label, service, namespace };
    }
  }

  serial(): number {
    // A serial number has 32 bits and wraps.
    return this.#cache.revision() % 2 ** 32;
  }

  /** Whether records may have changed. */
  #apply(resource: string, { object, old }: ObjectChange): boolean {
    switch (resource) {
      case SERVICES.resource:
        this.#services.replace(old, object, addressesOfService);
        return true;
      case ENDPOINT_SLICES.resource:
        if (old !== undefined) this.#indexSlice(old as EndpointSlice, 'remove');
        if (object !== undefined) this.#indexSlice(object as EndpointSlice, 'add');
        return true;
      case PODS.resource: {
        // Pods change often, but their addresses rarely change.
        const [before, after] = [addressesOfPod(old), addressesOfPod(object)];
        this.#pods.replace(old, object, addressesOfPod);
        return before.join() !== after.join();
      }
      case NAMESPACES.resource:
        return object === undefined || old === undefined;
      default:
        return false;
    }
  }

  #indexSlice(slice: EndpointSlice, change: 'add' | 'remove'): void {
    const { namespace = '', labels } = slice.metadata ?? {};
    const service = labels?.[SERVICE_NAME_LABEL];
    if (service === undefined) return;
    const key = `${namespace}/${service}`;
    const endpoints = valueAt(this.#endpoints, key, () => new IndexedEndpoints());
    endpoints[change](slice);
    if (endpoints.addresses.length === 0) this.#endpoints.delete(key);
    for (const { address, label } of servedEndpoints(slice)) {
      const names = valueAt(this.#names, address, () => new CountedValues());
      names[change](`${label}.${service}.${namespace}`);
      if (names.values.length === 0) this.#names.delete(address);
    }
  }
}

/** Lets the zone take an event. It is a decision of the loop if records may have changed. */
export function takeChanges(event: InformerEvent, zone: CachedState, loop: ChangeLoop): void {
  if (event.kind !== 'changed') return;
  loop.take(event);
  const running = loop.begin();
  const before = zone.generation;
  zone.take(event);
  if (zone.generation !== before)
    running.took(`${event.changes.length === 1 ? 'one change' : `${event.changes.length} changes`} of records`);
  running.ended();
}

const NO_ENDPOINTS: ServiceEndpoints = new IndexedEndpoints();

/** Indexes objects by their addresses. */
class AddressIndex {
  readonly #byAddress = new Map<string, Map<string, KubeObject>>();

  has(address: string): boolean {
    return this.#byAddress.has(address);
  }

  at(address: string): readonly KubeObject[] {
    const found = this.#byAddress.get(address);
    return found === undefined ? [] : [...found.values()];
  }

  replace(
    old: KubeObject | undefined,
    object: KubeObject | undefined,
    addressesOf: (object: KubeObject | undefined) => readonly string[],
  ): void {
    for (const address of addressesOf(old)) {
      const known = this.#byAddress.get(address);
      if (old !== undefined) known?.delete(formatKey(keyOf(old)));
      if (known?.size === 0) this.#byAddress.delete(address);
    }
    if (object === undefined) return;
    for (const address of addressesOf(object)) {
      const known = this.#byAddress.get(address);
      const key = formatKey(keyOf(object));
      if (known === undefined) this.#byAddress.set(address, new Map([[key, object]]));
      else known.set(key, object);
    }
  }
}

function addressesOfService(object: KubeObject | undefined): readonly string[] {
  const address = object === undefined ? undefined : clusterAddress(object);
  return address === undefined ? [] : [address];
}

/** A pod that has ended has given its address back. */
function addressesOfPod(object: KubeObject | undefined): readonly string[] {
  const { metadata, status } = (object ?? {}) as Partial<Pod>;
  const { podIP = '', phase } = status ?? {};
  if (podIP === '' || isFinalPhase(phase)) return [];
  return [podKey(metadata?.namespace ?? '', podIP)];
}

function podKey(namespace: string, address: string): string {
  return `${namespace}/${address}`;
}
