import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { must } from '@gantry/base';
import { objectKey, type WatchCache } from '../../cache/index.ts';
import type { LookupResource, ObjectLookup } from './object-lookup.ts';

const GROUPS: Readonly<Record<LookupResource, string>> = {
  certificatesigningrequests: 'certificates.k8s.io',
  nodes: '',
  pods: '',
  secrets: '',
  serviceaccounts: '',
};

/** Reads what authentication and authorisation need from the watch cache, without waiting for anything. */
export function createCacheLookup(cache: WatchCache): ObjectLookup {
  const definitions = new Map<LookupResource, ResourceDefinition>();
  const definitionOf = (resource: LookupResource): ResourceDefinition => {
    const known = definitions.get(resource);
    if (known !== undefined) return known;
    const found = must(findResource({ group: GROUPS[resource], version: 'v1', resource }), resource);
    definitions.set(resource, found);
    return found;
  };
  return {
    get: (resource, namespace, name): KubeObject | undefined => {
      const definition = definitionOf(resource);
      return cache.resource(definition).get(objectKey(definition, namespace, name))?.response.object;
    },
    podsOnNode: (nodeName) => {
      const filter = { namespace: '', matches: () => true, selectsAll: false, nodeName };
      return cache
        .resource(definitionOf('pods'))
        .candidates(filter)
        .map((entry) => entry.response.object);
    },
  };
}
