import { type Container, parseAmounts, type Pod, podRequests } from '@gantry/objects';
import type { EnginePrivilege } from '../runtime/engine.ts';
import { isNodeCriticalPod } from './critical-pod.ts';
import { sidecarsOf } from './pod-containers.ts';

/** The score of containers that the kernel kills last. */
const GUARANTEED = -997;

/**
 * The OOM score of a container, like in the kubelet (pkg/kubelet/qos). The kernel kills BestEffort containers first, then Burstable ones
 * by their request, then Guaranteed and node-critical ones.
 */
export function oomScore(pod: Pod, container: Container, capacityBytes: number, engine: EnginePrivilege): number {
  const wanted = wantedScore(pod, container, capacityBytes);
  return engine === 'full' ? wanted : Math.max(0, wanted);
}

function wantedScore(pod: Pod, container: Container, capacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED;
  switch (pod.status?.qosClass) {
    case 'Guaranteed':
      return GUARANTEED;
    case 'BestEffort':
      return 1000;
    default: {
      const requested = countedRequest(pod, container) + shareOfPodRequest(pod);
      const score = 1000 - Math.floor((1000 * requested) / Math.max(1, capacityBytes));
      return Math.min(999, Math.max(1000 + GUARANTEED, score));
    }
  }
}

/**
 * The memory request of a container. A sidecar counts at least as much as the smallest main container, so it is not killed before the
 * main containers, which need it.
 */
function countedRequest(pod: Pod, container: Container): number {
  const own = requestOf(container);
  if (!sidecarsOf(pod).has(container.name)) return own;
  return Math.max(own, Math.min(...(pod.spec?.containers ?? []).map(requestOf)));
}

/** Each container's share of the pod-level request that exceeds the requests of its containers. */
function shareOfPodRequest(pod: Pod): number {
  const { resources, overhead: _, ...spec } = pod.spec ?? { containers: [] };
  const requested = parseAmounts(resources?.requests)['memory'] ?? 0;
  if (requested === 0) return 0;
  const count = spec.containers.length + (spec.initContainers ?? []).length;
  return Math.trunc((requested - (podRequests({ ...pod, spec })['memory'] ?? 0)) / count);
}

function requestOf({ resources }: Container): number {
  return parseAmounts(resources?.requests)['memory'] ?? 0;
}

/** The sandbox is killed after its containers. */
export function sandboxOomScore(engine: EnginePrivilege): number {
  return engine === 'full' ? -998 : 0;
}
