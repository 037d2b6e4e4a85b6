import type Docker from 'dockerode';
import { groupParent } from './pod-group-name.ts';
import type { OptionGroup } from './option-group.ts';
import type { ResourceLimits } from '../../runtime/pod-groups.ts';

/** The kernel's smallest share, for containers without a request. */
export const MIN_CPU_SHARES = 2;
const CPU_PERIOD_MICROS = 100_000;

/** A running container's new limits; -1 takes one away. The engine has no way to take memory's away, which the API refuses too. */
export function resourceUpdate({ cpuShares, cpuQuotaMicros, memoryBytes }: ResourceLimits): Docker.HostConfig {
  return {
    CpuShares: cpuShares ?? MIN_CPU_SHARES,
    CpuPeriod: CPU_PERIOD_MICROS,
    CpuQuota: cpuQuotaMicros ?? -1,
    ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
  };
}

/** The limits of a container as the engine shows them. */
export function resourcesOf({ CpuShares, CpuQuota, Memory }: Docker.HostConfig): ResourceLimits {
  return {
    cpuShares: CpuShares ?? MIN_CPU_SHARES,
    ...((CpuQuota ?? 0) > 0 ? { cpuQuotaMicros: CpuQuota ?? 0 } : {}),
    ...((Memory ?? 0) > 0 ? { memoryBytes: Memory ?? 0 } : {}),
  };
}

/** CPU, memory, processes and the OOM score. */
export const resourceOptions: OptionGroup = ({ owner, pod, group, resources, oomScoreAdj, processLimit }) => ({
  host: {
    ...(group === 'pod' ? { CgroupParent: groupParent({ owner, uid: pod.uid }) } : {}),
    PidsLimit: processLimit === 'unlimited' ? -1 : processLimit,
    OomScoreAdj: oomScoreAdj,
    CpuShares: resources.cpuShares ?? MIN_CPU_SHARES,
    ...(resources.cpuQuotaMicros === undefined
      ? {}
      : { CpuPeriod: CPU_PERIOD_MICROS, CpuQuota: resources.cpuQuotaMicros }),
    // No swap above the limit: it would hide an excess for which Kubernetes kills the container.
    ...(resources.memoryBytes === undefined
      ? {}
      : { Memory: resources.memoryBytes, MemorySwap: resources.memoryBytes }),
  },
});

/** Rotation bounds the disk space of a pod's log: kubelet's defaults. */
export const LOG_CONFIG = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } };
