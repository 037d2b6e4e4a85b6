import type { QuantityFormat } from '@gantry/objects';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { HostReading } from '../runtime/stats.ts';

/** What the kubelet's eviction manager observes. The writable layers are on the file system of images, so `containerfs` is no other. */
export const SIGNALS = {
  'memory.available': { pressure: 'MemoryPressure', resource: 'memory', format: 'binarySI', of: 'host' },
  'allocatableMemory.available': { pressure: 'MemoryPressure', resource: 'memory', format: 'binarySI', of: 'node' },
  'nodefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage', format: 'binarySI', of: 'host' },
  'nodefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes', format: 'decimalSI', of: 'host' },
  'imagefs.available': { pressure: 'DiskPressure', resource: 'ephemeral-storage', format: 'binarySI', of: 'host' },
  'imagefs.inodesFree': { pressure: 'DiskPressure', resource: 'inodes', format: 'decimalSI', of: 'host' },
  'pid.available': { pressure: 'PIDPressure', resource: 'pids', format: 'decimalSI', of: 'host' },
} as const satisfies Readonly<Record<string, SignalKind>>;

/** What a signal is about. */
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

/** How much of something is left, and how much there is, in bytes or pieces. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<SignalName, Observation>;

/** A node's own part of its host. */
export interface NodePart {
  /** How many nodes the host's amounts are divided by. */
  readonly shares: number;
  readonly allocatableBytes: number;
  /** The working set of this node's pods. */
  readonly podBytes: number;
}

/**
 * What a node observes: of the host's amounts its share, as its capacity is, so that a percentage of it is that of the host; and how
 * much of its allocatable memory its own pods have left.
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
