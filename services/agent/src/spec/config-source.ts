import type { ConfigMap, Secret } from '@gantry/objects';

/** ConfigMaps and Secrets that pods refer to; undefined when the object does not exist. */
export interface ConfigSource {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
}
