import type { NodeStatus } from '@gantry/objects';
import type { EngineInfo } from '../runtime/engine.ts';
import type { ResourceAmounts } from '../spec/resources.ts';

/** The resources of a host. */
export interface HostResources extends Pick<EngineInfo, 'cpus' | 'memoryBytes'> {
  /** The size of the file system of images, containers and volumes. */
  readonly storageBytes: number;
}

export const MAX_PODS = 110;

/** A node's share of its host. */
export function capacityOf(host: HostResources, shares: number): ResourceAmounts {
  return {
    cpuMillis: Math.floor((host.cpus * 1000) / shares),
    memoryBytes: Math.floor(host.memoryBytes / shares),
    storageBytes: Math.floor(host.storageBytes / shares),
  };
}

/** A node's allocatable amounts: its share without the reserved amounts. Never negative. */
export function allocatableOf(host: HostResources, shares: number, reserved: ResourceAmounts): ResourceAmounts {
  const capacity = capacityOf(host, shares);
  const left = (name: keyof ResourceAmounts) => Math.max(0, capacity[name] - reserved[name]);
  return { cpuMillis: left('cpuMillis'), memoryBytes: left('memoryBytes'), storageBytes: left('storageBytes') };
}

/**
 * Capacity and allocatable of a Node's status. Extended resources that others have added to the capacity are kept and are fully
 * allocatable, as in the kubelet. Nodes have no huge pages.
 */
export function resourceStatus(
  host: HostResources,
  shares: number,
  reserved: ResourceAmounts,
  old: NodeStatus,
): { readonly capacity: Record<string, string>; readonly allocatable: Record<string, string> } {
  const extended = Object.fromEntries(Object.entries(old.capacity ?? {}).filter(([name]) => name.includes('/')));
  return {
    capacity: { ...extended, ...shown(capacityOf(host, shares)) },
    allocatable: { ...extended, ...shown(allocatableOf(host, shares, reserved)) },
  };
}

function shown({ cpuMillis, memoryBytes, storageBytes }: ResourceAmounts): Record<string, string> {
  return {
    cpu: cpuMillis % 1000 === 0 ? String(cpuMillis / 1000) : `${cpuMillis}m`,
    'ephemeral-storage': kibibytes(storageBytes),
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    memory: kibibytes(memoryBytes),
    pods: String(MAX_PODS),
  };
}

function kibibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024)}Ki`;
}
