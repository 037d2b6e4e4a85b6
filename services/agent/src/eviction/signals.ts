import type { QuantityFormat } from '@gantry/objects';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { HostReading } from '../runtime/stats.ts';

/** The signals of the kubelet's eviction manager. `containerfs` is missing, because writable layers are on the file system of images. */
export const SIGNALS = {
  'memory.available': { pressure: 'MemoryPressure', resource: 'memory', format: 'binarySI', of: 'host' },
  'allocatableMemory.available': { pressure: 'MemoryPressure', resource: 'memory', format: 'binarySI', of: 'node' },
  'nodefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage', format: 'binarySI', of: 'host' },
  'nodefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes', format: 'decimalSI', of: 'host' },
  'imagefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage', format: 'binarySI', of: 'host' },
  'imagefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes', format: 'decimalSI', of: 'host' },
  'pid.available': { pressure: 'PIDPressure', resource: 'pids', format: 'decimalSI', of: 'host' },
} as const satisfies Readonly<Record<string, SignalKind>>;

/** The properties of a signal. */
interface SignalKind {
  readonly pressure: NodePressure;
  readonly resource: 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';
  readonly format: QuantityFormat;
  /** `host`: all nodes of the host observe it at the same time. */
  readonly of: 'host' | 'node';
}

export type SignalName = keyof typeof SIGNALS;
export type StarvedResource = SignalKind['resource'];

/** Whether a text is the name of a signal. */
export function isSignal(name: string): name is SignalName {
  return Object.hasOwn(SIGNALS, name);
}

/** The available amount and the total, in bytes or units. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<SignalName, Observation>;

/** A node's share of its host. */
export interface NodePart {
  /** The number of nodes that share the host's amounts. */
  readonly shares: number;
  readonly allocatableBytes: number;
  /** The working set of this node's pods. */
  readonly podBytes: number;
}

/**
 * The observations of a node: its share of the host's amounts, and how much of its allocatable memory its pods have left. The node's
 * capacity is divided in the same way, so percentages are the same for node and host.
 */
export function observe(
  { memory, disk, processes }: HostReading,
  { shares, allocatableBytes, podBytes }: NodePart,
): Observations {
  const share = (available: number, capacity: number): Observation => ({
    available: Math.floor(available / shares),
    capacity: Math.floor(capacity / shares),
  });
  const bytes = share(disk.availableBytes, disk.capacityBytes);
  const inodes = share(disk.freeInodes, disk.inodes);
  return new Map<SignalName, Observation>([
    ['memory.available', share(memory.availableBytes, memory.capacityBytes)],
    [
      'allocatableMemory.available',
      { available: Math.max(0, allocatableBytes - podBytes), capacity: Math.max(allocatableBytes, podBytes) },
    ],
    ['nodefs.available', bytes],
    ['nodefs.inodesFree', inodes],
    ['imagefs.available', bytes],
    ['imagefs.inodesFree', inodes],
    ['pid.available', share(processes.available, processes.capacity)],
  ]);
}
