import { type ApiObject, isTerminal } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Invariant } from './invariant.ts';

/**
 * I35 (Kubernetes: allocators). No ClusterIP, node port or pod IP belongs to two live owners at any revision. Pods of the host's network
 * have no address of their own; a pod that is terminal, or being deleted without a running container, has given its address back. From
 * etcd's history.
 */
export const addressesOnce: Invariant = {
  id: 'I35',
  title: 'An address has one owner',
  unit: 'addresses and ports given',
  needs: ['etcd'],
  observe(world, findings) {
    const owners = new Map<string, Map<string, ObjectVersion>>();
    const place = (version: ObjectVersion | undefined, put: boolean) => {
      for (const address of version === undefined ? [] : addressesOf(version)) {
        const held = owners.get(address) ?? new Map<string, ObjectVersion>();
        if (version !== undefined && put) held.set(version.key, version);
        else held.delete(version?.key ?? '');
        if (held.size === 0) owners.delete(address);
        else owners.set(address, held);
      }
    };
    return {
      begin() {
        for (const resource of ['services', 'pods']) for (const version of world.list(resource)) place(version, true);
      },
      change({ resource, before, after, atMs, source }) {
        if (resource !== 'services' && resource !== 'pods') return;
        const old = new Set(before === undefined ? [] : addressesOf(before));
        place(before, false);
        place(after, true);
        for (const address of after === undefined ? [] : addressesOf(after)) {
          if (old.has(address)) continue;
          findings.checked();
          const others = [...(owners.get(address)?.values() ?? [])].filter(({ key }) => key !== after?.key);
          if (others.length === 0) continue;
          const names = others.map(({ key }) => key).join(', ');
          findings.violation(
            atMs,
            `${address} was given to ${after?.key}, while ${names} has it`,
            ...others.map((one) => one.source),
            source,
          );
        }
      },
    };
  },
};

function addressesOf({ resource, object }: ObjectVersion): readonly string[] {
  return resource === 'pods' ? podAddresses(object) : serviceAddresses(object);
}

function podAddresses(pod: ApiObject | undefined): readonly string[] {
  if (pod === undefined || pod.spec?.hostNetwork === true || isTerminal(pod)) return [];
  const runs = pod.status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true;
  if (pod.metadata?.deletionTimestamp !== undefined && !runs) return [];
  return pod.status?.podIPs?.flatMap(({ ip }) => (ip === undefined ? [] : [`pod IP ${ip}`])) ?? [];
}

function serviceAddresses(service: ApiObject | undefined): readonly string[] {
  const { clusterIPs = [], ports = [], healthCheckNodePort } = service?.spec ?? {};
  const addresses = clusterIPs.filter((ip) => ip !== 'None' && ip !== '').map((ip) => `ClusterIP ${ip}`);
  const nodePorts = ports.flatMap(({ protocol = 'TCP', nodePort }) =>
    nodePort ? [`node port ${protocol} ${nodePort}`] : [],
  );
  return [
    ...addresses,
    ...new Set(nodePorts),
    ...(healthCheckNodePort ? [`node port TCP ${healthCheckNodePort}`] : []),
  ];
}
