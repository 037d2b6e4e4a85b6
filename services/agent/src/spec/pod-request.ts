import { parseAmounts, type Pod, podRequests } from '@gantry/objects';

/**
 * What a pod requests of a resource that is counted in bytes, with its overhead (Kubernetes' `GetResourceRequestQuantity`). 0 without a
 * request, whatever the overhead.
 */
export function podRequest(pod: Pod, resource: 'memory' | 'ephemeral-storage'): number {
  const requested = podRequests(pod)[resource] ?? 0;
  const overhead = parseAmounts(pod.spec?.overhead)[resource] ?? 0;
  return requested === overhead ? 0 : requested;
}
