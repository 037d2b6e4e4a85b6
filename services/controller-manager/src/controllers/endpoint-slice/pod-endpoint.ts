import { canonicalIp } from '@gantry/kinds';
import { type Endpoint, type Node, type Pod, type Service, ZONE_LABEL } from '@gantry/objects';
import { isReady } from '../../libraries/pods/pod-state.ts';
import { addressesOf, hostnameIn } from '../../libraries/service-endpoints/service-pods.ts';

export type AddressType = 'IPv4' | 'IPv6';

/** The address families of a Service; both for a headless Service without families. */
export function addressTypesOf({ spec }: Service): readonly AddressType[] {
  const families = (['IPv4', 'IPv6'] as const).filter((family) => spec?.ipFamilies?.includes(family));
  if (families.length > 0) return families;
  const { clusterIP = '' } = spec ?? {};
  if (clusterIP === '' || clusterIP === 'None') return ['IPv4', 'IPv6'];
  return [canonicalIp(clusterIP)?.family ?? 'IPv4'];
}

/** A pod as an endpoint of a Service; undefined if it has no address of this type. `node` is undefined if unknown. */
export function endpointOf(
  service: Service,
  pod: Pod,
  node: Node | undefined,
  addressType: AddressType,
): Endpoint | undefined {
  const addresses = addressesOf(pod)
    .map((ip) => canonicalIp(ip))
    .flatMap((ip) => (ip?.family === addressType ? [ip.text] : []));
  if (addresses.length === 0) return undefined;
  const { name = '', namespace = '', uid = '', deletionTimestamp } = pod.metadata;
  const serving = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const { nodeName = '' } = pod.spec ?? {};
  const zone = node?.metadata.labels?.[ZONE_LABEL] ?? '';
  const hostname = hostnameIn(pod, service);
  return {
    addresses,
    conditions: { ready, serving, terminating },
    hostname,
    nodeName: nodeName || undefined,
    targetRef: { kind: 'Pod', namespace, name, uid },
    zone: zone || undefined,
  };
}

/** The zone of a node. */
export function zoneOf(node: Node | undefined): string {
  return node?.metadata.labels?.[ZONE_LABEL] ?? '';
}
