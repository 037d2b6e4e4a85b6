import { type Container, type Pod, quantityValue } from '@gantry/objects';
import { initContainersOf, mainContainersOf } from './pod-containers.ts';

/**
 * What a pod requests of a resource that is counted in bytes: that of the pod as a whole, else the most that its containers request at a
 * time, with the pod's overhead (Kubernetes' `GetResourceRequestQuantity`). 0 without a request.
 */
export function podRequest(pod: Pod, resource: 'memory' | 'ephemeral-storage'): number {
  const amount = (requests: Readonly<Record<string, string>> = {}) => quantityValue(requests[resource] ?? '0');
  const own = ({ resources }: Container) => amount(resources?.requests);
  let beside = 0;
  let most = 0;
  for (const { role, container } of initContainersOf(pod)) {
    if (role === 'sidecar') beside += own(container);
    most = Math.max(most, role === 'sidecar' ? beside : beside + own(container));
  }
  const main = mainContainersOf(pod).reduce((sum, { container }) => sum + own(container), 0);
  const whole = pod.spec?.resources?.requests;
  const requested = whole?.[resource] === undefined ? Math.max(most, beside + main) : amount(whole);
  return requested === 0 ? 0 : requested + amount(pod.spec?.overhead);
}
