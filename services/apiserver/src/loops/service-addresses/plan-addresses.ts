import type { IPAddress, KubeObject, Service } from '@gantry/objects';

export type StoredAddress = IPAddress & KubeObject;

/** The label that marks addresses as managed by this loop only. */
export const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
export const ALLOCATOR = 'ipallocator.k8s.io';
const FAMILY = 'ipaddress.kubernetes.io/ip-family';

export type AddressAction =
  | { readonly kind: 'create'; readonly object: StoredAddress }
  | { readonly kind: 'delete'; readonly object: StoredAddress };

/** What makes an IPAddress of every Service's address, and leaves none that was made for a Service that has gone. */
export function planAddresses(
  services: readonly (Service & KubeObject)[],
  stored: readonly StoredAddress[],
): readonly AddressAction[] {
  const wanted = new Map(services.flatMap(addressesOf).map((one) => [one.metadata.name ?? '', one]));
  const present = new Map(stored.map((one) => [one.metadata.name ?? '', one]));
  const superfluous = stored.filter((one) => {
    const isOurs = one.metadata.labels?.[MANAGED_BY] === ALLOCATOR && one.metadata.deletionTimestamp === undefined;
    return isOurs && !isSameParent(one, wanted.get(one.metadata.name ?? ''));
  });
  const missing = [...wanted].flatMap(([name, object]) => (present.has(name) ? [] : [object]));
  return [
    ...superfluous.map((object) => ({ kind: 'delete', object }) as const),
    ...missing.map((object) => ({ kind: 'create', object }) as const),
  ];
}

function isSameParent(one: IPAddress, other: IPAddress | undefined): boolean {
  const [a, b] = [one.spec?.parentRef, other?.spec?.parentRef];
  return b !== undefined && a?.name === b.name && a.namespace === b.namespace && a.resource === b.resource;
}

function addressesOf({ metadata, spec }: Service & KubeObject): readonly StoredAddress[] {
  if (spec?.type === 'ExternalName') return [];
  const { namespace = '', name = '' } = metadata;
  return (spec?.clusterIPs ?? [])
    .filter((address) => address !== 'None' && address !== '')
    .map((address) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: {
        name: address,
        labels: { [FAMILY]: address.includes(':') ? 'IPv6' : 'IPv4', [MANAGED_BY]: ALLOCATOR },
      },
      spec: { parentRef: { group: '', resource: 'services', namespace, name } },
    }));
}
