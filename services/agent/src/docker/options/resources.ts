import type { OptionGroup } from './option-group.ts';

/** The kernel's smallest share, for containers without a request. */
export const MIN_CPU_SHARES = 2;
const CPU_PERIOD_MICROS = 100_000;

/** CPU, memory and the OOM score. */
export const resourceOptions: OptionGroup = ({ resources, oomScoreAdj }) => ({
  host: {
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
