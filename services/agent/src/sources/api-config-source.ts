import { CONFIG_MAPS, SECRETS } from '@gantry/objects';
import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import type { ConfigSource } from '../spec/config-source.ts';

/** ConfigMaps and Secrets, read from the API each time. */
export function apiConfigSource(client: ObjectReader): ConfigSource {
  return {
    configMap: (namespace, name, signal) => ignoreNotFound(client.get(CONFIG_MAPS, { namespace, name }, signal)),
    secret: (namespace, name, signal) => ignoreNotFound(client.get(SECRETS, { namespace, name }, signal)),
  };
}
