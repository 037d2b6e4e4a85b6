import { isReason, type ConfigMap, type KubeObject, type ResourceRef, type Secret } from '@gantry/api';
import type { ObjectReader } from '@gantry/client';
import type { ConfigSource } from './environment.ts';

const CONFIG_MAPS: ResourceRef = { group: '', version: 'v1', resource: 'configmaps' };
const SECRETS: ResourceRef = { group: '', version: 'v1', resource: 'secrets' };

/** ConfigMaps and Secrets read when they are needed. */
export function apiConfigSource(client: ObjectReader): ConfigSource {
  const read = async <T extends KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ) => {
    try {
      return await client.get<T>(resource, { namespace, name }, signal);
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  return {
    configMap: (namespace, name, signal) => read<ConfigMap>(CONFIG_MAPS, namespace, name, signal),
    secret: (namespace, name, signal) => read<Secret>(SECRETS, namespace, name, signal),
  };
}
