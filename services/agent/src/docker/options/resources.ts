import type Docker from 'dockerode';
import { groupParent } from './pod-group-name.ts';
import type { OptionGroup } from './option-group.ts';
import type { ResourceLimits } from '../../runtime/pod-groups.ts';

/** The kernel's smallest value, for containers without a request. */
export const MIN_CPU_SHARES = 2;
const CPU_PERIOD_MICROS = 100_000;

/**
 * New limits of a running container; -1 removes a limit. The engine cannot remove a memory limit; the API server does not allow that
 * either.
 */
export function resourceUpdate({ cpuShares, cpuQuotaMicros, memoryBytes }: ResourceLimits): Docker.HostConfig {
  return {
    CpuShares: cpuShares ?? MIN_CPU_SHARES,
    CpuPeriod: CPU_PERIOD_MICROS,
    CpuQuota: cpuQuotaMicros ?? -1,
    ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
  };
}

/** The limits of a container in the engine's inspection. */
export function resourcesOf({ CpuShares, CpuQuota, Memory }: Docker.HostConfig): ResourceLimits {
  return {
    cpuShares: CpuShares ?? MIN_CPU_SHARES,
    ...((CpuQuota ?? 0) > 0 ? { cpuQuotaMicros: CpuQuota ?? 0 } : {}),
    ...((Memory ?? 0) > 0 ? { memoryBytes: Memory ?? 0 } : {}),
  };
}

/** CPU, memory, processes and OOM score. */
export const resourceOptions: OptionGroup = ({ owner, pod, group, resources, oomScoreAdj, processLimit }) => ({
  host: {
    ...(group === 'pod' ? { CgroupParent: groupParent({ owner, uid: pod.uid }) } : {}),
    PidsLimit: processLimit === 'unlimited' ? -1 : processLimit,
    OomScoreAdj: oomScoreAdj,
    CpuShares: resources.cpuShares ?? MIN_CPU_SHARES,
    ...(resources.cpuQuotaMicros === undefined
      ? {}
      : { CpuPeriod: CPU_PERIOD_MICROS, CpuQuota: resources.cpuQuotaMicros }),
    // No swap beyond the limit: it would hide usage for which Kubernetes kills the container.
    ...(resources.memoryBytes === undefined
      ? {}
      : { Memory: resources.memoryBytes, MemorySwap: resources.memoryBytes }),
  },
});

/** Log rotation with the kubelet's defaults limits the disk space of a pod's log. */
export const LOG_CONFIG = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } };
