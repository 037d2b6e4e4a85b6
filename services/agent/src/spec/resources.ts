import { type Container, type Pod, quantityMilli, quantityValue } from '@gantry/objects';
import type { ResourceLimits } from '../runtime/containers.ts';
import { ownContainersOf, type ContainerRole } from './pod-containers.ts';

const MIN_SHARES = 2;
const MAX_SHARES = 262_144;
const MIN_QUOTA_MICROS = 1000;

/** A container's requests and limits as control group values, translated like kubelet does. */
export function resourceLimits(container: Container): ResourceLimits {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const requested = requests['cpu'] ?? limits['cpu'];
  const cpu = limits['cpu'];
  const memory = limits['memory'];
  const shares = requested === undefined ? MIN_SHARES : Math.floor((quantityMilli(requested) * 1024) / 1000);
  return {
    cpuShares: Math.min(MAX_SHARES, Math.max(MIN_SHARES, shares)),
    ...(cpu === undefined || quantityMilli(cpu) === 0
      ? {}
      : { cpuQuotaMicros: Math.max(MIN_QUOTA_MICROS, quantityMilli(cpu) * 100) }),
    ...(memory === undefined || quantityValue(memory) === 0 ? {} : { memoryBytes: quantityValue(memory) }),
  };
}

/**
 * The memory that a pod's containers may use together, in bytes: the most that run at a time, init containers or main ones, with
 * the sidecars. 0, without a limit, unless every container has one.
 */
export function memoryLimitOf(pod: Pod): number {
  const containers = ownContainersOf(pod).map(({ role, container }) => ({
    role,
    bytes: resourceLimits(container).memoryBytes ?? 0,
  }));
  if (containers.some(({ bytes }) => bytes === 0)) return 0;
  const bytesOf = (wanted: ContainerRole) => containers.flatMap(({ role, bytes }) => (role === wanted ? [bytes] : []));
  const sum = (all: readonly number[]) => all.reduce((total, bytes) => total + bytes, 0);
  return sum(bytesOf('sidecar')) + Math.max(sum(bytesOf('main')), ...bytesOf('init'));
}
