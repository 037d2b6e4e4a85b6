import { expect, it } from 'vitest';
import { MEASURED_CONTAINER, measurement } from './testing/example-measurement.ts';
import type { InterfaceStats } from '../runtime/stats.ts';
import { statsSummary, type Summarized } from './stats-summary.ts';

const AT = '1970-01-01T00:00:12Z';
const STATS_AT = '1970-01-01T00:00:10Z';
const DISK = { availableBytes: 300, capacityBytes: 1000, freeInodes: 40, inodes: 50 };
const HOST = {
  memory: { availableBytes: 1, capacityBytes: 2 },
  disk: DISK,
  processes: { available: 900, capacity: 1000 },
};
const ETH0 = { name: 'eth0', rxBytes: 11, rxErrors: 13, txBytes: 21, txErrors: 23 };
const fs = (time: string, usedBytes?: number) => ({
  time,
  availableBytes: 300,
  capacityBytes: 1000,
  ...(usedBytes === undefined ? {} : { usedBytes }),
  inodesFree: 40,
  inodes: 50,
  inodesUsed: 10,
});

const SUMMARIZED: Summarized = {
  node: 'n',
  startedAt: 0,
  capacityBytes: 9000,
  measured: measurement(),
  nodeUsage: undefined,
  podUsage: [],
  host: HOST,
  network: [{ ...measurement().pods[0]?.sandbox?.interfaces[0], name: 'ens3' } as InterfaceStats],
  storageOf: () => undefined,
  parts: 'all',
};

it('shows what the node has used, and its disk and network, which are those of the host', () => {
  expect(statsSummary(SUMMARIZED)).toHaveProperty('node', {
    nodeName: 'n',
    startTime: '1970-01-01T00:00:00Z',
    cpu: { time: AT, usageCoreNanoSeconds: 4e9 },
    memory: { time: AT, availableBytes: 6000, usageBytes: 4000, rssBytes: 1500, workingSetBytes: 3000 },
    network: { time: AT, name: '', interfaces: [{ ...ETH0, name: 'ens3' }] },
    fs: fs(AT, 700),
    runtime: { imageFs: fs(AT), containerFs: fs(AT, 700) },
    rlimit: { time: AT, maxpid: 1000, curproc: 100 },
  });
});

it('shows what a pod and its containers have used, and what they had written when that was measured', () => {
  const stored = {
    at: 5_000,
    storage: { emptyDirs: new Map([['scratch', 64]]), files: 8 },
    parts: new Map([['main', { layerBytes: 16, logBytes: 4 }]]),
  };
  const storedAt = '1970-01-01T00:00:05Z';
  const storageOf = (uid: string) => (uid === 'uid-1' ? stored : undefined);
  const faults = { rssBytes: 1500, pageFaults: 60, majorPageFaults: 6 };
  expect(statsSummary({ ...SUMMARIZED, storageOf })).toHaveProperty('pods', [
    {
      podRef: { name: 'web', namespace: 'default', uid: 'uid-1' },
      startTime: '1970-01-01T00:00:00Z',
      containers: [
        {
          name: 'main',
          startTime: '1970-01-01T00:00:02Z',
          cpu: { time: STATS_AT, usageCoreNanoSeconds: 3e9 },
          memory: { time: STATS_AT, availableBytes: 3000, usageBytes: 4000, workingSetBytes: 2000, ...faults },
          rootfs: fs(storedAt, 16),
          logs: fs(storedAt, 4),
        },
      ],
      cpu: { time: AT, usageCoreNanoSeconds: 3e9 },
      memory: { time: AT, usageBytes: 4000, workingSetBytes: 2000, ...faults },
      network: { time: AT, ...ETH0, interfaces: [ETH0] },
      volume: [{ ...fs(storedAt, 64), name: 'scratch' }],
      'ephemeral-storage': fs(storedAt, 92),
      process_stats: { process_count: 7 },
    },
  ]);
});

it('leaves out what is not known', () => {
  const { state, stats } = MEASURED_CONTAINER;
  const { at, cpuNanos, memoryBytes, memoryUsageBytes } = stats;
  const bare = { state: { ...state, resources: {} }, stats: { at, cpuNanos, memoryBytes, memoryUsageBytes } };
  const measured = measurement({ containers: [MEASURED_CONTAINER, bare], sandbox: undefined, startedAt: undefined });
  const host = { ...HOST, disk: { ...DISK, freeInodes: 0, inodes: 0 } };
  const { pods, node } = statsSummary({ ...SUMMARIZED, measured, host }) as {
    readonly pods: readonly { readonly containers: readonly object[] }[];
    readonly node: object;
  };
  expect(pods[0]?.containers[1]).toEqual({
    name: 'main',
    startTime: '1970-01-01T00:00:02Z',
    cpu: { time: STATS_AT, usageCoreNanoSeconds: 3e9 },
    memory: { time: STATS_AT, usageBytes: 4000, workingSetBytes: 2000 },
  });
  expect(Object.keys(pods[0] ?? {})).toEqual(['podRef', 'containers', 'cpu', 'memory']);
  expect(node).toHaveProperty('fs', { time: AT, availableBytes: 300, capacityBytes: 1000, usedBytes: 700 });
});

it('shows CPU and memory alone to those who ask for no more', () => {
  const stored = { at: 0, storage: { emptyDirs: new Map<string, number>(), files: 0 }, parts: new Map() };
  const summary = statsSummary({ ...SUMMARIZED, parts: 'cpu-and-memory', storageOf: () => stored });
  const { node, pods } = summary as {
    readonly node: object;
    readonly pods: readonly { readonly containers: object[] }[];
  };
  expect(Object.keys(node)).toEqual(['nodeName', 'startTime', 'cpu', 'memory']);
  expect(Object.keys(pods[0] ?? {})).toEqual(['podRef', 'startTime', 'containers', 'cpu', 'memory']);
  expect(Object.keys(pods[0]?.containers[0] ?? {})).toEqual(['name', 'startTime', 'cpu', 'memory']);
});
