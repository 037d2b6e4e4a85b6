import { LEASES } from '@gantry/objects';
import type { Cluster, Container } from './cluster.ts';
import { eventually } from './eventually.ts';

/** A component that elects a leader: its Compose service and its Lease. */
export const COMPONENTS = [
  { service: 'controller-manager', lease: 'kube-controller-manager' },
  { service: 'scheduler', lease: 'kube-scheduler' },
] as const;

export type Component = (typeof COMPONENTS)[number];

/** The container whose process leads: its id is what the holder's identity begins with. */
export async function leaderOf(cluster: Cluster, component: Component): Promise<Container> {
  return await eventually(`${component.service} has a leader`, 120_000, async () => {
    const lease = await cluster.get(LEASES, 'kube-system', component.lease);
    const holder = lease.spec?.holderIdentity ?? '';
    const containers = await cluster.containers(component.service);
    return containers.find(({ id, state }) => state === 'running' && holder.includes(id.slice(0, 12)));
  });
}
