import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import { NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@gantry/objects';
import type { ClaimSource } from '../spec/claim-source.ts';

/** Claims and volumes, read from the API each time. */
export function apiClaimSource(client: Pick<ObjectReader, 'get'>): ClaimSource {
  const global = (name: string) => ({ namespace: '', name });
  return {
    claim: (namespace, name, signal) =>
      ignoreNotFound(client.get(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal)),
    volume: (name, signal) => ignoreNotFound(client.get(PERSISTENT_VOLUMES, global(name), signal)),
    node: (name, signal) => ignoreNotFound(client.get(NODES, global(name), signal)),
  };
}
