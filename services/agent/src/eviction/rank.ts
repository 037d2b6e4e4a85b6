import { type Pod, parseAmounts, podRequests } from '@gantry/objects';
import type { StarvedResource } from './signals.ts';

/** What a container uses; what is absent has not been measured. */
export interface ContainerUse {
  readonly name: string;
  readonly memoryBytes?: number;
  /** Of its writable layer and its logs. */
  readonly storageBytes?: number;
  readonly processes?: number;
}

/** A pod that runs, and what it uses; no containers when nothing of it has been measured. */
export interface Candidate {
  readonly pod: Pod;
  readonly containers: readonly ContainerUse[];
  /** Of its emptyDirs on the disk, and of the files that the agent gives its containers. */
  readonly volumeBytes: number;
  /** Of all that it has written to the disk: files, folders and links. */
  readonly inodes: number;
  /** How its files were counted; absent where all were. */
  readonly count?: 'unfinished' | 'missing';
}

/** Where a pod stands among those that may be evicted. Small numbers go first. */
export type Rank = readonly [measured: number, withinRequest: number, priority: number, overRequest: number];

/** An unfinished count goes before complete ones of up to so many times what it has reached. */
const UNFINISHED_FACTOR = 10;

/**
 * The order in which pods are evicted for the want of a resource, as in the kubelet: pods that were not measured, those above their
 * requests, those of a lower priority, those that use the most above their requests. Processes and inodes have no requests. (The kubelet takes
 * a request for ephemeral storage, in bytes, off the inodes; then who requests some bytes could use up all inodes.) Pods whose files could not be counted go last: what hinders the count
 * may be another pod. What an unfinished count has reached decides whether a pod is above its request.
 */
export function rankOf({ pod, containers, volumeBytes, inodes, count }: Candidate, resource: StarvedResource): Rank {
  const sum = (name: 'memoryBytes' | 'storageBytes' | 'processes') =>
    containers.reduce((total, container) => total + (container[name] ?? 0), 0);
  const measured = measuredRank(containers, count);
  const factor = count === 'unfinished' ? UNFINISHED_FACTOR : 1;
  const priority = pod.spec?.priority ?? 0;
  switch (resource) {
    case 'pids':
      return [measured, 0, priority, -sum('processes')];
    case 'memory':
      return [measured, ...overRequest(pod, 'memory', sum('memoryBytes'), priority)];
    case 'inodes':
      return [measured, inodes > 0 ? 0 : 1, priority, -inodes * factor];
    case 'ephemeral-storage': {
      const used = sum('storageBytes') + volumeBytes;
      const [within, , over] = overRequest(pod, 'ephemeral-storage', used, priority);
      return [measured, within, priority, over - used * (factor - 1)];
    }
  }
}

function measuredRank(containers: readonly ContainerUse[], count: Candidate['count']): number {
  if (count === 'missing') return 2;
  return containers.length > 0 ? 1 : 0;
}

function overRequest(
  pod: Pod,
  resource: 'memory' | 'ephemeral-storage',
  used: number,
  priority: number,
): readonly [number, number, number] {
  const over = used - podRequest(pod, resource);
  return [over > 0 ? 0 : 1, priority, -over];
}

/** Negative when the first pod is evicted before the second one. */
export function compareRanks(one: Rank, other: Rank): number {
  for (const [index, value] of one.entries()) {
    const difference = value - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * What a pod requests of a resource that is counted in bytes, with its overhead (Kubernetes' `GetResourceRequestQuantity`). 0 without a
 * request, whatever the overhead.
 */
export function podRequest(pod: Pod, resource: 'memory' | 'ephemeral-storage'): number {
  const requested = podRequests(pod)[resource] ?? 0;
  const overhead = parseAmounts(pod.spec?.overhead)[resource] ?? 0;
  return requested === overhead ? 0 : requested;
}
