import { type Container, type Pod, quantityMilli, quantityValue } from '@gantry/objects';
import type { EnginePrivilege } from '../runtime/engine.ts';
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

/** The OOM score, by which the kernel kills BestEffort first, then Burstable by request, then Guaranteed. */
export function oomScore(pod: Pod, container: Container, capacityBytes: number, engine: EnginePrivilege): number {
  const wanted = wantedScore(pod, container, capacityBytes);
  return engine === 'full' ? wanted : Math.max(0, wanted);
}

function wantedScore(pod: Pod, container: Container, capacityBytes: number): number {
  switch (pod.status?.qosClass) {
    case 'Guaranteed':
      return -997;
    case 'BestEffort':
      return 1000;
    default: {
      const memory = container.resources?.requests?.['memory'];
      const requested = memory === undefined ? 0 : quantityValue(memory);
      const score = 1000 - Math.floor((1000 * requested) / Math.max(1, capacityBytes));
      return Math.min(999, Math.max(3, score));
    }
  }
}

/** The sandbox is killed after its containers. */
export function sandboxOomScore(engine: EnginePrivilege): number {
  return engine === 'full' ? -998 : 0;
}
