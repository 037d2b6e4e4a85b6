import { findResource } from '@gantry/kinds';
import {
  ENDPOINT_SLICES,
  type Endpoints,
  type EndpointSlice,
  type KubeObject,
  type Service,
  SERVICE_NAME_LABEL,
} from '@gantry/objects';
import { objectKey, type WatchCache } from '../cache/index.ts';
import type { ServiceObjects } from './resolve-service.ts';

/** Services and what is behind them, as the watch cache knows them. */
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
