import type { EngineInfo } from '../runtime/engine.ts';
import type {
  DeviceIo,
  InterfaceStats,
  MemoryStats,
  ThrottlingStats,
  HostDevices,
  HostReading,
} from '../runtime/stats.ts';
import { containersOf, type MeasuredContainer, type MeasuredPod, type Measurement } from './measurement.ts';
import { type Family, family, prometheusText, type Sample } from './prometheus-text.ts';
import type { StoredByPod } from './stats-summary.ts';

/** The period of CPU limits. The agent uses the engine's default. */
const CPU_PERIOD_MICROS = 100_000;

interface ContainerFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Undefined when the value is unknown for a container. */
  readonly value: (one: MeasuredContainer) => number | undefined;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Data about the disk, and about reads and writes of containers. */
export interface DiskReading {
  /** The file system that containers write to. */
  readonly host: HostReading['disk'];
  readonly devices: HostDevices;
  readonly io: ReadonlyMap<string, readonly DeviceIo[]>;
  /** Undefined for a pod whose storage is not measured. */
  readonly storageOf: (podUid: string) => StoredByPod | undefined;
}

/** The content of `/metrics/cadvisor`, with cAdvisor's names. Disk metrics are omitted when the disk cannot be read. */
export function cadvisorMetrics(measured: Measurement, engine: EngineInfo, disk: DiskReading | undefined): string {
  const machine = (value: number) => [{ labels: {}, value }];
  return prometheusText([
    ...CONTAINER_FAMILIES.map(({ name, type, help, value, labels }) =>
      family(name, type, help, containerSamples(measured, value, labels)),
    ),
    ...(disk === undefined ? [] : diskFamilies(measured, disk)),
    family('container_memory_failures_total', 'counter', FAILURES, pageFaults(measured)),
    ...NETWORK_FAMILIES.map(([name, help, value]) => family(name, 'counter', help, networkSamples(measured, value))),
    family('machine_cpu_cores', 'gauge', 'Number of logical CPU cores.', machine(engine.cpus)),
    family('machine_memory_bytes', 'gauge', 'Amount of memory installed on the machine.', machine(engine.memoryBytes)),
  ]);
}

function containerSamples(
  measured: Measurement,
  value: ContainerFamily['value'],
  labels: ContainerFamily['labels'] = {},
): readonly Sample[] {
  return samplesOf(measured, (_pod, one) => {
    const found = value(one);
    return found === undefined ? [] : [{ labels, value: found, at: one.stats.at }];
  });
}

/** The samples of each container, with its labels. */
function samplesOf(
  measured: Measurement,
  samples: (pod: MeasuredPod, one: MeasuredContainer) => readonly Sample[],
): readonly Sample[] {
  return containersOf(measured).flatMap(([pod, one]) => {
    const labels = {
      container: one.state.name,
      id: `/docker/${one.state.id}`,
      image: one.state.image,
      name: one.state.id,
      namespace: pod.identity.namespace,
      pod: pod.identity.name,
    };
    return samples(pod, one).map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } }));
  });
}

/** Containers of a node write to the same file system. Their volumes may be on other disks. */
function diskFamilies(measured: Measurement, { host, devices, io, storageOf }: DiskReading): readonly Family[] {
  const ofFiles = (value: number) =>
    samplesOf(measured, (_pod, { stats }) => [{ labels: { device: devices.files }, value, at: stats.at }]);
  const usage = samplesOf(measured, ({ identity }, { state }) => {
    const stored = storageOf(identity.uid);
    const parts = stored?.parts.get(state.name);
    if (stored === undefined || parts === undefined) return [];
    return [{ labels: { device: devices.files }, value: parts.layerBytes + parts.logBytes, at: stored.at }];
  });
  const passed = (value: (of: DeviceIo) => number) =>
    samplesOf(measured, (_pod, { state, stats }) =>
      (io.get(state.id) ?? []).map((one) => ({
        labels: { device: devices.names.get(one.device) ?? one.device },
        value: value(one),
        at: stats.at,
      })),
    );
  return [
    family('container_fs_inodes_free', 'gauge', 'Number of available Inodes', ofFiles(host.freeInodes)),
    family('container_fs_inodes_total', 'gauge', 'Number of Inodes', ofFiles(host.inodes)),
    family('container_fs_limit_bytes', 'gauge', FS_LIMIT, ofFiles(host.capacityBytes)),
    family(
      'container_fs_reads_bytes_total',
      'counter',
      'Cumulative count of bytes read',
      passed(({ readBytes }) => readBytes),
    ),
    family(
      'container_fs_reads_total',
      'counter',
      'Cumulative count of reads completed',
      passed(({ reads }) => reads),
    ),
    family('container_fs_usage_bytes', 'gauge', FS_USAGE, usage),
    family(
      'container_fs_writes_bytes_total',
      'counter',
      'Cumulative count of bytes written',
      passed(({ writtenBytes }) => writtenBytes),
    ),
    family(
      'container_fs_writes_total',
      'counter',
      'Cumulative count of writes completed',
      passed(({ writes }) => writes),
    ),
  ];
}

const FS_LIMIT = 'Number of bytes that can be consumed by the container on this filesystem.';
const FS_USAGE = 'Number of bytes that are consumed by the container on this filesystem.';
const FAILURES = 'Cumulative count of memory allocation failures.';

/** A container's group has no nested groups, so both scopes have the same value. */
function pageFaults(measured: Measurement): readonly Sample[] {
  return ['container', 'hierarchy'].flatMap((scope) => [
    ...containerSamples(measured, ({ stats }) => stats.memory?.pageFaults, { failure_type: 'pgfault', scope }),
    ...containerSamples(measured, ({ stats }) => stats.memory?.majorPageFaults, { failure_type: 'pgmajfault', scope }),
  ]);
}

/** The network of a pod belongs to its sandbox, which is not a container of the pod. */
function networkSamples({ at, pods }: Measurement, value: (of: InterfaceStats) => number): readonly Sample[] {
  return pods.flatMap(({ identity: { namespace, name: pod }, sandbox }) =>
    (sandbox?.interfaces ?? []).map((one) => ({
      labels: { id: `/docker/${sandbox?.id ?? ''}`, interface: one.name, name: sandbox?.id ?? '', namespace, pod },
      value: value(one),
      at,
    })),
  );
}

const memory =
  (value: (of: MemoryStats) => number) =>
  ({ stats }: MeasuredContainer) =>
    stats.memory === undefined ? undefined : value(stats.memory);
const throttling =
  (value: (of: ThrottlingStats) => number) =>
  ({ stats }: MeasuredContainer) =>
    stats.throttling === undefined ? undefined : value(stats.throttling);

const CONTAINER_FAMILIES: readonly ContainerFamily[] = [
  {
    name: 'container_cpu_cfs_periods_total',
    type: 'counter',
    help: 'Number of elapsed enforcement period intervals.',
    value: throttling(({ periods }) => periods),
  },
  {
    name: 'container_cpu_cfs_throttled_periods_total',
    type: 'counter',
    help: 'Number of throttled period intervals.',
    value: throttling(({ throttledPeriods }) => throttledPeriods),
  },
  {
    name: 'container_cpu_cfs_throttled_seconds_total',
    type: 'counter',
    help: 'Total time duration the container has been throttled.',
    value: throttling(({ throttledNanos }) => throttledNanos / 1e9),
  },
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed in seconds.',
    value: ({ stats }) => stats.cpuNanos / 1e9,
    labels: { cpu: 'total' },
  },
  {
    name: 'container_last_seen',
    type: 'gauge',
    help: 'Last time a container was seen by the exporter',
    value: ({ stats }) => Math.floor(stats.at / 1000),
  },
  {
    name: 'container_memory_cache',
    type: 'gauge',
    help: 'Number of bytes of page cache memory.',
    value: memory(({ cacheBytes }) => cacheBytes),
  },
  {
    name: 'container_memory_mapped_file',
    type: 'gauge',
    help: 'Size of memory mapped files in bytes.',
    value: memory(({ mappedFileBytes }) => mappedFileBytes),
  },
  {
    name: 'container_memory_rss',
    type: 'gauge',
    help: 'Size of RSS in bytes.',
    value: memory(({ rssBytes }) => rssBytes),
  },
  {
    name: 'container_memory_usage_bytes',
    type: 'gauge',
    help: 'Current memory usage in bytes, including all memory regardless of when it was accessed',
    value: ({ stats }) => stats.memoryUsageBytes,
  },
  {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: 'Current working set in bytes.',
    value: ({ stats }) => stats.memoryBytes,
  },
  {
    name: 'container_spec_cpu_period',
    type: 'gauge',
    help: 'CPU period of the container.',
    value: ({ state }) => ((state.resources.cpuQuotaMicros ?? 0) > 0 ? CPU_PERIOD_MICROS : undefined),
  },
  {
    name: 'container_spec_cpu_quota',
    type: 'gauge',
    help: 'CPU quota of the container.',
    value: ({ state }) => ((state.resources.cpuQuotaMicros ?? 0) > 0 ? state.resources.cpuQuotaMicros : undefined),
  },
  {
    name: 'container_spec_cpu_shares',
    type: 'gauge',
    help: 'CPU share of the container.',
    value: ({ state }) => state.resources.cpuShares,
  },
  {
    name: 'container_spec_memory_limit_bytes',
    type: 'gauge',
    help: 'Memory limit for the container.',
    value: ({ state }) => state.resources.memoryBytes ?? 0,
  },
  {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: 'Start time of the container since unix epoch in seconds.',
    value: ({ state }) => (state.startedAt ?? state.createdAt) / 1000,
  },
  {
    name: 'container_threads',
    type: 'gauge',
    help: 'Number of threads running inside the container',
    value: ({ stats }) => stats.processes,
  },
];

const NETWORK_FAMILIES: readonly (readonly [string, string, (of: InterfaceStats) => number])[] = [
  ['container_network_receive_bytes_total', 'Cumulative count of bytes received', (of) => of.received.bytes],
  [
    'container_network_receive_errors_total',
    'Cumulative count of errors encountered while receiving',
    (of) => of.received.errors,
  ],
  [
    'container_network_receive_packets_dropped_total',
    'Cumulative count of packets dropped while receiving',
    (of) => of.received.dropped,
  ],
  ['container_network_receive_packets_total', 'Cumulative count of packets received', (of) => of.received.packets],
  ['container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', (of) => of.sent.bytes],
  [
    'container_network_transmit_errors_total',
    'Cumulative count of errors encountered while transmitting',
    (of) => of.sent.errors,
  ],
  [
    'container_network_transmit_packets_dropped_total',
    'Cumulative count of packets dropped while transmitting',
    (of) => of.sent.dropped,
  ],
  ['container_network_transmit_packets_total', 'Cumulative count of packets transmitted', (of) => of.sent.packets],
];
