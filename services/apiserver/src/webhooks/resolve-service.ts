import { append, type Random } from '@gantry/base';
import {
  ENDPOINT_SLICES,
  type Endpoints,
  type EndpointSlice,
  type KubeObject,
  type Service,
  SERVICE_NAME_LABEL,
} from '@gantry/objects';
import { WebhookCallError } from './webhook-call-error.ts';
import { findResource } from '@gantry/kinds';
import { objectKey, type WatchCache } from '../cache/index.ts';

/** The cached Services and their endpoints. */
export function cachedServices(cache: WatchCache): ServiceObjects {
  const get = <T extends KubeObject>(resource: string, namespace: string, name: string): T | undefined => {
    const definition = findResource({ group: '', version: 'v1', resource });
    if (definition === undefined) return undefined;
    return cache.resource(definition).get(objectKey(definition, namespace, name))?.response.object as T | undefined;
  };
  return {
    service: (namespace, name) => get<Service>('services', namespace, name),
    endpoints: (namespace, name) => get<Endpoints>('endpoints', namespace, name),
    slices: (namespace, name) => {
      const definition = findResource(ENDPOINT_SLICES);
      if (definition === undefined) return [];
      const [primary] = get<Service>('services', namespace, name)?.spec?.ipFamilies ?? [];
      const all = cache.resource(definition).candidates({ namespace, matches: () => true, selectsAll: true });
      const own = all
        .map(({ response }) => response.object as EndpointSlice)
        .filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === name);
      return own.sort((a, b) => Number(b.addressType === primary) - Number(a.addressType === primary));
    },
  };
}

/** The objects from which the addresses of a Service are resolved. */
export interface ServiceObjects {
  service(namespace: string, name: string): (Service & KubeObject) | undefined;
  /** EndpointSlices of the Service, those of its primary address family first. */
  slices(namespace: string, name: string): readonly EndpointSlice[];
  endpoints(namespace: string, name: string): Endpoints | undefined;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Resolves the port of a Service to an address: one of its ready endpoints, or its external name. */
export function resolveService(
  objects: ServiceObjects,
  service: { readonly namespace: string; readonly name: string; readonly port: number },
  random: Random,
): Address {
  const { namespace, name, port } = service;
  const found = objects.service(namespace, name);
  if (found === undefined) throw new WebhookCallError(`service ${JSON.stringify(name)} not found`);
  const { type = 'ClusterIP', externalName = '', ports = [] } = found.spec ?? {};
  if (type === 'ExternalName') return { host: externalName, port };
  const wanted = ports.find((one) => one.port === port);
  if (wanted === undefined) {
    throw new WebhookCallError(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const portName = wanted.name ?? '';
  const addresses = [...sliceAddresses(objects.slices(namespace, name), portName)];
  if (addresses.length === 0) append(addresses, endpointAddresses(objects.endpoints(namespace, name), portName));
  const chosen = addresses[Math.floor(random() * addresses.length)];
  if (chosen === undefined) {
    throw new WebhookCallError(`no endpoints available for service ${JSON.stringify(name)}`);
  }
  return chosen;
}

/** The ready addresses of the first slice that has any for the port. */
function sliceAddresses(slices: readonly EndpointSlice[], portName: string): readonly Address[] {
  for (const slice of slices) {
    const port = (slice.ports ?? []).find((one) => (one.name ?? '') === portName)?.port;
    if (port === undefined) continue;
    const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    const addresses = ready.flatMap(({ addresses: [host] }) => (host === undefined ? [] : [{ host, port }]));
    if (addresses.length > 0) return addresses;
  }
  return [];
}

/** The ready addresses of Endpoints, for Services that have no slices yet. */
function endpointAddresses(endpoints: Endpoints | undefined, portName: string): readonly Address[] {
  return (endpoints?.subsets ?? []).flatMap((subset) => {
    const port = (subset.ports ?? []).find((one) => (one.name ?? '') === portName)?.port;
    return port === undefined ? [] : (subset.addresses ?? []).map(({ ip }) => ({ host: ip, port }));
  });
}
