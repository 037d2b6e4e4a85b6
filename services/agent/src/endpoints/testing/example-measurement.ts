import type { MeasuredContainer, MeasuredPod, Measurement } from '../measurement.ts';

/** A container with limits on CPU time and memory. All of its values are known. */
export const MEASURED_CONTAINER: MeasuredContainer = {
  state: {
    id: 'c1',
    name: 'main',
    attempt: 0,
    sandboxId: 's1',
    hash: 'h',
    image: 'nginx:1',
    imageId: 'sha256:1',
    state: 'running',
    createdAt: 1_000,
    startedAt: 2_000,
    restartDelayMs: 0,
    resources: { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 5000 },
  },
  stats: {
    at: 10_000,
    cpuNanos: 3e9,
    memoryBytes: 2000,
    memoryUsageBytes: 4000,
    processes: 7,
    memory: {
      rssBytes: 1500,
      cacheBytes: 2500,
      mappedFileBytes: 100,
      pageFaults: 60,
      majorPageFaults: 6,
    },
    throttling: { periods: 20, throttledPeriods: 5, throttledNanos: 250_000_000 },
  },
};

const POD: MeasuredPod = {
  identity: { namespace: 'default', name: 'web', uid: 'uid-1' },
  startedAt: 500,
  containers: [MEASURED_CONTAINER],
  sandbox: {
    id: 's1',
    interfaces: [
      {
        name: 'eth0',
        received: { bytes: 11, packets: 12, errors: 13, dropped: 14 },
        sent: { bytes: 21, packets: 22, errors: 23, dropped: 24 },
      },
    ],
  },
};

/** A node with one pod. `change` replaces its fields. */
export function measurement(change: Partial<MeasuredPod> = {}): Measurement {
  return {
    at: 12_000,
    pods: [{ ...POD, ...change }],
    node: { cpuNanos: 4e9, memoryBytes: 3000, memoryUsageBytes: 4000, memory: MEASURED_CONTAINER.stats.memory },
  };
}
