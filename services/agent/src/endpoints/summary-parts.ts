import type { ContainerStats, InterfaceStats, HostReading } from '../runtime/stats.ts';

/** The interface that represents a network, as in the kubelet. */
const MAIN_INTERFACE = 'eth0';

/** The kubelet's `MemoryStats`. `availableBytes` needs a limit. */
export function memoryStats(
  time: string,
  { memoryBytes, memoryUsageBytes, memory }: Pick<ContainerStats, 'memoryBytes' | 'memoryUsageBytes' | 'memory'>,
  limitBytes?: number,
): object {
  return {
    time,
    ...(limitBytes === undefined ? {} : { availableBytes: Math.max(0, limitBytes - memoryBytes) }),
    usageBytes: memoryUsageBytes,
    workingSetBytes: memoryBytes,
    ...(memory === undefined
      ? {}
      : { rssBytes: memory.rssBytes, pageFaults: memory.pageFaults, majorPageFaults: memory.majorPageFaults }),
  };
}

/** The kubelet's `FsStats`: the available space of the disk, and the space that the pod or container uses. */
export function fileSystem(time: string, disk: HostReading['disk'], usedBytes?: number): object {
  const { availableBytes, capacityBytes, freeInodes, inodes } = disk;
  return {
    time,
    availableBytes,
    capacityBytes,
    usedBytes,
    // `inodes` is 0 on a file system that creates inodes on demand.
    ...(inodes === 0 ? {} : { inodesFree: freeInodes, inodes, inodesUsed: inodes - freeInodes }),
  };
}

/** The kubelet's `NetworkStats`. */
export function interfaceList(time: string, interfaces: readonly InterfaceStats[]): object {
  const all = interfaces.map(({ name, received, sent }) => ({
    name,
    rxBytes: received.bytes,
    rxErrors: received.errors,
    txBytes: sent.bytes,
    txErrors: sent.errors,
  }));
  return { time, ...(all.find(({ name }) => name === MAIN_INTERFACE) ?? { name: '' }), interfaces: all };
}

export function nanoCores(value: number | undefined): object {
  return value === undefined ? {} : { usageNanoCores: Math.round(value) };
}
