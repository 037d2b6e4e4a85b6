import type { IPAddress, KubeObject, Service } from '@gantry/objects';
import type { Instant } from '@gantry/base';
import type { ServiceWarning } from '../warning-events.ts';

export type StoredAddress = IPAddress & KubeObject;
type StoredService = Service & KubeObject;

/** The label of IPAddresses that only this loop manages. */
export const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
export const ALLOCATOR = 'ipallocator.k8s.io';
const FAMILY = 'ipaddress.kubernetes.io/ip-family';
/** Until this age of a Service, its IPAddress may still be created. Later it was lost. Kubernetes uses the longest time of a request. */
const MAKING_MS = 60_000;

export type AddressAction =
  | { readonly kind: 'create'; readonly object: StoredAddress }
  | { readonly kind: 'delete'; readonly object: StoredAddress }
  | { readonly kind: 'warn'; readonly warning: ServiceWarning };

/** The observed state. */
export interface ObservedAddresses {
  readonly services: readonly StoredService[];
  readonly stored: readonly StoredAddress[];
  /** Whether an address is in a range of Service addresses. */
  readonly isInRange: (address: string) => boolean;
}

/**
 * Plans Kubernetes' repair of IPAddresses: one IPAddress for each address of a Service, and none of deleted Services. An IPAddress with
 * another parent or without the labels is replaced, since parents are immutable. If several Services have one address, any of them may
 * be the parent.
 */
export function planAddresses(
  { services, stored, isInRange }: ObservedAddresses,
  now: Instant,
): readonly AddressAction[] {
  const holders = new Map<string, StoredService[]>();
  const warnings: AddressAction[] = [];
  for (const service of services) {
    for (const address of addressesOf(service)) {
      if (isInRange(address)) {
        const known = holders.get(address);
        if (known === undefined) holders.set(address, [service]);
        else known.push(service);
      } else warnings.push(outOfRange(service, address));
    }
  }
  const deletions: AddressAction[] = [];
  const kept = new Set<string>();
  for (const one of stored) {
    const name = one.metadata.name ?? '';
    const wanted = (holders.get(name) ?? []).map((service) => addressOf(service, name));
    const isLeaving = one.metadata.deletionTimestamp !== undefined;
    const isRight = wanted.some((other) => isSameParent(one, other) && hasLabels(one, other));
    const isOurs = one.metadata.labels?.[MANAGED_BY] === ALLOCATOR;
    // An IPAddress of another manager that no Service uses is a reservation. A terminating one is created again after it is gone.
    if (isRight || isLeaving || (wanted.length === 0 && !isOurs)) kept.add(name);
    else deletions.push({ kind: 'delete', object: one });
    const [service] = holders.get(name) ?? [];
    if (isLeaving || service === undefined || wanted.some((other) => isSameParent(one, other))) continue;
    warnings.push(wrongReference(service, name));
  }
  const wrong = new Set(deletions.flatMap((action) => ('object' in action ? [action.object.metadata.name ?? ''] : [])));
  const creations: AddressAction[] = [];
  for (const [address, [service]] of holders) {
    if (service === undefined || kept.has(address)) continue;
    creations.push({ kind: 'create', object: addressOf(service, address) });
    const age = now - Date.parse(service.metadata.creationTimestamp ?? '');
    if (!wrong.has(address) && age > MAKING_MS) warnings.push(notAllocated(service, address));
  }
  return [...warnings, ...deletions, ...creations];
}

function isSameParent(one: IPAddress, other: IPAddress): boolean {
  const [a, b] = [one.spec?.parentRef, other.spec?.parentRef];
  const isSame = a?.name === b?.name && (a?.namespace ?? '') === b?.namespace;
  return isSame && a?.resource === b?.resource && (a?.group ?? '') === b?.group;
}

function hasLabels({ metadata }: StoredAddress, other: StoredAddress): boolean {
  return [FAMILY, MANAGED_BY].every((label) => metadata.labels?.[label] === other.metadata.labels?.[label]);
}

function addressesOf({ spec }: StoredService): readonly string[] {
  if (spec?.type === 'ExternalName') return [];
  return (spec?.clusterIPs ?? []).filter((address) => address !== 'None' && address !== '');
}

function addressOf({ metadata }: StoredService, address: string): StoredAddress {
  const { namespace = '', name = '' } = metadata;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IPAddress',
    metadata: { name: address, labels: { [FAMILY]: familyOf(address), [MANAGED_BY]: ALLOCATOR } },
    spec: { parentRef: { group: '', resource: 'services', namespace, name } },
  };
}

function familyOf(address: string): string {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

function warn(service: StoredService, value: string, reason: string, message: string): AddressAction {
  return { kind: 'warn', warning: { service, source: 'ipallocator-repair-controller', reason, message, value } };
}

function outOfRange(service: StoredService, address: string): AddressAction {
  const message = `Cluster IP [${familyOf(address)}]: ${address} is not within any configured Service CIDR; please recreate service`;
  return warn(service, address, 'ClusterIPOutOfRange', message);
}

function notAllocated(service: StoredService, address: string): AddressAction {
  const message = `Cluster IP [${familyOf(address)}]: ${address} is not allocated; repairing`;
  return warn(service, address, 'ClusterIPNotAllocated', message);
}

function wrongReference(service: StoredService, address: string): AddressAction {
  const { namespace = '', name = '' } = service.metadata;
  const message = `the ClusterIP [${familyOf(address)}]: ${address} for Service ${namespace}/${name} has a wrong reference; repairing`;
  return warn(service, address, 'ClusterIPNotAllocated', message);
}
