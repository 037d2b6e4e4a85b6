import {
  type Container,
  type Pod,
  podLimits,
  podRequests,
  quantityMilli,
  quantityValue,
  resourcesOfPod,
} from '@gantry/objects';
import type { EngineInfo } from '../runtime/engine.ts';
import { ownContainersOf } from './pod-containers.ts';
import type { ResourceLimits } from '../runtime/pod-groups.ts';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MIN_QUOTA_MICROS = 1000;

/**
 * A container's requests and limits as control group values, converted like in the kubelet. Without an own limit, the pod's limit
 * applies.
 */
export function resourceLimits(pod: Pick<Pod, 'spec'>, container: Container): ResourceLimits {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const ofPod = pod.spec?.resources?.limits ?? {};
  const cpu = quantityMilli(limits['cpu'] ?? '0') || quantityMilli(ofPod['cpu'] ?? '0');
  const memory = quantityValue(limits['memory'] ?? '0') || quantityValue(ofPod['memory'] ?? '0');
  const requested = requests['cpu'] === undefined ? cpu : quantityMilli(requests['cpu']);
  return { cpuShares: sharesOf(requested), ...limitsOf(cpu, memory) };
}

/**
 * The control group values of a pod with pod-level resources, like the kubelet's ResourceConfigForPod. Undefined for other pods, which
 * are limited only by their containers' resources.
 */
export function podResources(pod: Pod): ResourceLimits | undefined {
  const own = resourcesOfPod(pod);
  if (!own.has('cpu') && !own.has('memory')) return undefined;
  const limits = podLimits(pod);
  const declared = (name: 'cpu' | 'memory') => (isLimited(pod, name) ? (limits[name] ?? 0) : 0);
  return { cpuShares: sharesOf(podRequests(pod)['cpu'] ?? 0), ...limitsOf(declared('cpu'), declared('memory')) };
}

/** The values of the pod's control group; undefined without a group. */
export function groupResources(pod: Pod, { podGroups }: Pick<EngineInfo, 'podGroups'>): ResourceLimits | undefined {
  return podGroups === 'supported' ? podResources(pod) : undefined;
}

/** Whether a pod is limited: by its own limit, or because every container has a limit. */
export function isLimited(pod: Pod, name: 'cpu' | 'memory'): boolean {
  const isPositive = (amount: string | undefined) => quantityMilli(amount ?? '0') > 0;
  if (isPositive(pod.spec?.resources?.limits?.[name])) return true;
  return ownContainersOf(pod).every(({ container }) => isPositive(container.resources?.limits?.[name]));
}

/** The memory limit of all containers of a pod together, in bytes; 0 when the pod is not limited. */
export function memoryLimitOf(pod: Pod): number {
  return isLimited(pod, 'memory') ? (podLimits(pod)['memory'] ?? 0) : 0;
}

function sharesOf(milliCpu: number): number {
  return Math.min(MAX_SHARES, Math.max(MIN_SHARES, Math.floor((milliCpu * 1024) / 1000)));
}

function limitsOf(milliCpu: number, memoryBytes: number): Pick<ResourceLimits, 'cpuQuotaMicros' | 'memoryBytes'> {
  return {
    ...(milliCpu === 0 ? {} : { cpuQuotaMicros: Math.max(MIN_QUOTA_MICROS, milliCpu * 100) }),
    memoryBytes: memoryBytes || undefined,
  };
}

/** Amounts of the resources that every node has. */
export interface ResourceAmounts {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly storageBytes: number;
}
