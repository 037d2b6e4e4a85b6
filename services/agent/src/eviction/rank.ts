import { type Pod, parseAmounts, podRequests } from '@gantry/objects';
import type { StarvedResource } from './signals.ts';

/** The resource usage of a container; absent fields have not been measured. */
export interface ContainerUse {
  readonly name: string;
  readonly memoryBytes?: number;
  /** Bytes of its writable layer and its logs. */
  readonly storageBytes?: number;
  readonly processes?: number;
}

/** A running pod and its usage. `containers` is empty when nothing was measured. */
export interface Candidate {
  readonly pod: Pod;
  readonly containers: readonly ContainerUse[];
  /** Bytes of its emptyDirs on disk and of the agent's files for its containers. */
  readonly volumeBytes: number;
  /** Inodes of everything that it has written to disk: files, folders and links. */
  readonly inodes: number;
  /** Whether counting its files failed or did not finish; absent when all were counted. */
  readonly count?: 'unfinished' | 'missing';
}

/** The position of a pod in the order of eviction; smaller ranks are evicted first. */
export type Rank = readonly [measured: number, withinRequest: number, priority: number, overRequest: number];

/** An unfinished count ranks like a complete one of this many times its value. */
const UNFINISHED_FACTOR = 10;

/**
 * The rank of a pod for evictions because of a resource, like in the kubelet. First come pods that were not measured, then pods above
 * their requests, then lower priorities, then those with the highest usage above their requests. Processes and inodes have no requests.
 *
 * It differs from the kubelet in two ways. The kubelet subtracts the ephemeral storage request, in bytes, from the inodes, so that a pod
 * with a small request could use up all inodes. And pods whose files could not be counted come last here, because another pod may be the
 * cause; for an unfinished count, the value reached so far decides whether a pod is above its request.
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
 * A pod's request of a resource in bytes, including its overhead (Kubernetes' `GetResourceRequestQuantity`). 0 without a request,
 * whatever the overhead is.
 */
export function podRequest(pod: Pod, resource: 'memory' | 'ephemeral-storage'): number {
  const requested = podRequests(pod)[resource] ?? 0;
  const overhead = parseAmounts(pod.spec?.overhead)[resource] ?? 0;
  return requested === overhead ? 0 : requested;
}
