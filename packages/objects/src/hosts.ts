import { formatIpv4, parseIpv4Range } from './ipv4.ts';

/** A Node's label: the Docker engine that its containers run on. Nodes of one engine share a host, and its network of pods. */
export const ENGINE_LABEL = 'gantry.dev/engine';

/** A Node's annotation: the IPv4 address under which other hosts reach its host, where they send packets for its pods. */
export const HOST_ADDRESS_ANNOTATION = 'gantry.dev/host-address';

/** A Node's annotation: its host's custodian drains it. A returning agent removes it. */
export const DRAINING_ANNOTATION = 'gantry.dev/draining';

/** A Node's annotation: its host forwards the ports of load balancers from this address, its loopback. */
export const FORWARDED_FROM_ANNOTATION = 'gantry.dev/forwarded-from';

/** What the range of a cluster is when it is not set, where the first host's is smaller. */
const DEFAULT_PREFIX = 16;

/** The cluster's range where none is set: the /16 around the first host's, or that itself where it is as large. */
export function defaultClusterCidr(podCidr: string): string {
  const [address = '', length = ''] = podCidr.split('/');
  const prefix = Math.min(DEFAULT_PREFIX, Number(length));
  return `${formatIpv4(parseIpv4Range(`${address}/${prefix}`)?.first ?? 0)}/${prefix}`;
}
