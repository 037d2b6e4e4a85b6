import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import { INGRESSES, type KubeObject, type Lease } from '@gantry/objects';
import { type Clock, type Instant, must } from '@gantry/base';
import { objectKey, type WatchCache } from '../../cache/index.ts';
import type { LookupResource, ObjectLookup } from './object-lookup.ts';

const GROUPS: Readonly<Record<LookupResource, string>> = {
  certificatesigningrequests: 'certificates.k8s.io',
  leases: 'coordination.k8s.io',
  nodes: '',
  persistentvolumes: '',
  pods: '',
  secrets: '',
  serviceaccounts: '',
};

/** Creates the lookups of authentication and authorisation in the watch cache. They never wait. */
export function createCacheLookup(cache: WatchCache, clock: Clock): ObjectLookup {
  const definitions = new Map<LookupResource, ResourceDefinition>();
  const definitionOf = (resource: LookupResource): ResourceDefinition => {
    const known = definitions.get(resource);
    if (known !== undefined) return known;
    const found = must(findResource({ group: GROUPS[resource], version: 'v1', resource }), resource);
    definitions.set(resource, found);
    return found;
  };
  const ingresses = () => must(findResource(INGRESSES), 'ingresses');
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
    ingressesIn: (namespace) => {
      const filter = { namespace, matches: () => true, selectsAll: false };
      return cache
        .resource(ingresses())
        .candidates(filter)
        .map((entry) => entry.response.object);
    },
    hasExpired: (lease) => leaseEnd(lease) <= clock.now(),
  };
}

/** The end of a Lease. A Lease without a renewal time or duration counts as expired. */
function leaseEnd(lease: Lease | undefined): Instant {
  const { renewTime = '', leaseDurationSeconds = 0 } = lease?.spec ?? {};
  const renewedAt = Date.parse(renewTime);
  return Number.isNaN(renewedAt) ? Number.NEGATIVE_INFINITY : renewedAt + leaseDurationSeconds * 1000;
}
