import { formatIpv4, parseIpv4Range } from './ipv4.ts';

/** A Node's label: the Docker engine that runs its containers. Nodes with the same engine share a host and its pod network. */
export const ENGINE_LABEL = 'gantry.dev/engine';

/** A Node's annotation: the IPv4 address of its host, to which other hosts send packets for its pods. */
export const HOST_ADDRESS_ANNOTATION = 'gantry.dev/host-address';

/** A Node's annotation: its host's custodian drains it. A returning agent removes it. */
export const DRAINING_ANNOTATION = 'gantry.dev/draining';

/**
 * A Node's annotation: its agent is being replaced and comes back by this time (RFC 3339). Until then its silence has no effect. What
 * replaces it adds and removes the annotation.
 */
export const RETURNS_BY_ANNOTATION = 'gantry.dev/agent-returns-by';

/** A condition of a pod of a lost node: its host's custodian has seen that it has no container, and none can start any more. */
export const CONTAINERS_STOPPED = 'gantry.dev/containers-stopped';

/** A Node's annotation: its host forwards the ports of load balancers from this address, its loopback. */
export const FORWARDED_FROM_ANNOTATION = 'gantry.dev/forwarded-from';

/** The default prefix length of the cluster range, if the first host's range is smaller. */
const DEFAULT_PREFIX = 16;

/** The default cluster range: the /16 that contains the first host's range, or that range itself if it is larger. */
export function defaultClusterCidr(podCidr: string): string {
  const [address = '', length = ''] = podCidr.split('/');
  const prefix = Math.min(DEFAULT_PREFIX, Number(length));
  return `${formatIpv4(parseIpv4Range(`${address}/${prefix}`)?.first ?? 0)}/${prefix}`;
}
