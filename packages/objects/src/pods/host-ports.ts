import type { Container, Pod } from '../generated/types.ts';

/** A host port that a pod requests. */
export interface HostPort {
  readonly protocol: string;
  /** `0.0.0.0` for all addresses of the node. */
  readonly address: string;
  readonly port: number;
}

const ALL_ADDRESSES = '0.0.0.0';

/** Containers that run as long as the pod: main containers and sidecars. Init containers release their resources when they end. */
export function lastingContainers({ spec }: Pick<Pod, 'spec'>): readonly Container[] {
  return [...(spec?.containers ?? []), ...sidecarsOf(spec)];
}

/** The names of a pod's sidecars: init containers that are always restarted. */
export function sidecarNames({ spec }: Pick<Pod, 'spec'>): ReadonlySet<string> {
  return new Set(sidecarsOf(spec).map(({ name }) => name));
}

function sidecarsOf(spec: Pod['spec']): readonly Container[] {
  return (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
}

/** The host ports of a pod. */
export function hostPortsOf(pod: Pick<Pod, 'spec'>): readonly HostPort[] {
  return lastingContainers(pod).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP = '', protocol = 'TCP' }) =>
      hostPort === 0 ? [] : [{ protocol, address: hostIP === '' ? ALL_ADDRESSES : hostIP, port: hostPort }],
    ),
  );
}

/** Whether two host ports conflict: same port and protocol on an address that both use. */
export function hostPortsClash(one: HostPort, other: HostPort): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false;
  return one.address === other.address || one.address === ALL_ADDRESSES || other.address === ALL_ADDRESSES;
}
