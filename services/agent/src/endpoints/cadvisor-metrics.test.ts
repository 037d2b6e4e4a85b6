import { describe, expect, it } from 'vitest';
import { ENGINE } from '../testing/pods.ts';
import { cadvisorMetrics, type DiskReading } from './cadvisor-metrics.ts';
import { MEASURED_CONTAINER, measurement } from './testing/example-measurement.ts';

const OF_POD = 'namespace="default",pod="web"';
const CONTAINER = `container="main",id="/docker/c1",image="nginx:1",name="c1",${OF_POD}`;
const NETWORK = `id="/docker/s1",interface="eth0",name="s1",${OF_POD}`;
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('shows what a container and the network of its pod have used, with the names of cAdvisor', () => {
  const failures = (type: string, scope: string) =>
    `container_memory_failures_total{container="main",failure_type="${type}",id="/docker/c1",image="nginx:1",name="c1",${OF_POD},scope="${scope}"}`;
  const lines = linesOf(cadvisorMetrics(measurement(), ENGINE, undefined));
  expect(lines.toSorted()).toEqual(
    [
      `container_cpu_cfs_periods_total{${CONTAINER}} 20 10000`,
      `container_cpu_cfs_throttled_periods_total{${CONTAINER}} 5 10000`,
      `container_cpu_cfs_throttled_seconds_total{${CONTAINER}} 0.25 10000`,
      `container_cpu_usage_seconds_total{${CONTAINER.replace(',id', ',cpu="total",id')}} 3 10000`,
      `container_last_seen{${CONTAINER}} 10 10000`,
      `container_memory_cache{${CONTAINER}} 2500 10000`,
      `${failures('pgfault', 'container')} 60 10000`,
      `${failures('pgmajfault', 'container')} 6 10000`,
      `${failures('pgfault', 'hierarchy')} 60 10000`,
      `${failures('pgmajfault', 'hierarchy')} 6 10000`,
      `container_memory_mapped_file{${CONTAINER}} 100 10000`,
      `container_memory_rss{${CONTAINER}} 1500 10000`,
      `container_memory_usage_bytes{${CONTAINER}} 4000 10000`,
      `container_memory_working_set_bytes{${CONTAINER}} 2000 10000`,
      `container_network_receive_bytes_total{${NETWORK}} 11 12000`,
      `container_network_receive_errors_total{${NETWORK}} 13 12000`,
      `container_network_receive_packets_dropped_total{${NETWORK}} 14 12000`,
      `container_network_receive_packets_total{${NETWORK}} 12 12000`,
      `container_network_transmit_bytes_total{${NETWORK}} 21 12000`,
      `container_network_transmit_errors_total{${NETWORK}} 23 12000`,
      `container_network_transmit_packets_dropped_total{${NETWORK}} 24 12000`,
      `container_network_transmit_packets_total{${NETWORK}} 22 12000`,
      `container_spec_cpu_period{${CONTAINER}} 100000 10000`,
      `container_spec_cpu_quota{${CONTAINER}} 50000 10000`,
      `container_spec_cpu_shares{${CONTAINER}} 512 10000`,
      `container_spec_memory_limit_bytes{${CONTAINER}} 5000 10000`,
      `container_start_time_seconds{${CONTAINER}} 2 10000`,
      `container_threads{${CONTAINER}} 7 10000`,
      'machine_cpu_cores 8',
      `machine_memory_bytes ${ENGINE.memoryBytes}`,
    ].toSorted(),
  );
});

it('leaves out what is not known of a container, and the network of the host', () => {
  const { state, stats } = MEASURED_CONTAINER;
  const { at, cpuNanos, memoryBytes, memoryUsageBytes } = stats;
  const bare = { state: { ...state, resources: {} }, stats: { at, cpuNanos, memoryBytes, memoryUsageBytes } };
  const text = cadvisorMetrics(measurement({ containers: [bare], sandbox: undefined }), ENGINE, undefined);
  const names = linesOf(text).map((line) => /^\w+/.exec(line)?.[0]);
  expect(names).toEqual([
    'container_cpu_usage_seconds_total',
    'container_last_seen',
    'container_memory_usage_bytes',
    'container_memory_working_set_bytes',
    'container_spec_memory_limit_bytes',
    'container_start_time_seconds',
    'machine_cpu_cores',
    'machine_memory_bytes',
  ]);
});

describe('the disk', () => {
  const DISK: DiskReading = {
    host: { availableBytes: 300, capacityBytes: 1000, freeInodes: 40, inodes: 50 },
    devices: { names: new Map([['8:0', '/dev/sda']]), files: '/dev/sda1' },
    io: new Map([
      [
        'c1',
        [
          { device: '8:0', readBytes: 4096, writtenBytes: 8192, reads: 1, writes: 2 },
          { device: '259:1', readBytes: 0, writtenBytes: 512, reads: 0, writes: 1 },
        ],
      ],
    ]),
    storageOf: (uid) =>
      uid === 'uid-1'
        ? {
            at: 9_000,
            storage: { emptyDirs: new Map(), files: 0 },
            parts: new Map([['main', { layerBytes: 100, logBytes: 20 }]]),
          }
        : undefined,
  };
  const on = (device: string) => CONTAINER.replace(',id', `,device="${device}",id`);
  const disk = (reading: DiskReading) =>
    linesOf(cadvisorMetrics(measurement(), ENGINE, reading)).filter((line) => line.startsWith('container_fs_'));

  it('has what containers may write, have written, and have moved from and to devices', () => {
    expect(disk(DISK)).toEqual([
      `container_fs_inodes_free{${on('/dev/sda1')}} 40 10000`,
      `container_fs_inodes_total{${on('/dev/sda1')}} 50 10000`,
      `container_fs_limit_bytes{${on('/dev/sda1')}} 1000 10000`,
      `container_fs_reads_bytes_total{${on('/dev/sda')}} 4096 10000`,
      `container_fs_reads_bytes_total{${on('259:1')}} 0 10000`,
      `container_fs_reads_total{${on('/dev/sda')}} 1 10000`,
      `container_fs_reads_total{${on('259:1')}} 0 10000`,
      `container_fs_usage_bytes{${on('/dev/sda1')}} 120 9000`,
      `container_fs_writes_bytes_total{${on('/dev/sda')}} 8192 10000`,
      `container_fs_writes_bytes_total{${on('259:1')}} 512 10000`,
      `container_fs_writes_total{${on('/dev/sda')}} 2 10000`,
      `container_fs_writes_total{${on('259:1')}} 1 10000`,
    ]);
  });

  it('says nothing of what is not measured', () => {
    const names = disk({ ...DISK, io: new Map(), storageOf: () => undefined }).map((line) => line.split('{')[0]);
    expect(names).toEqual(['container_fs_inodes_free', 'container_fs_inodes_total', 'container_fs_limit_bytes']);
  });
});
