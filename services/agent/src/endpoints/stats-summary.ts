import { formatTime, type Instant } from '@gantry/base';
import type { ContainerStats, InterfaceStats, HostReading } from '../runtime/stats.ts';
import type { PodUsage, Usage } from '../usage/usage-sampler.ts';
import { type MeasuredContainer, type MeasuredPod, type Measurement, sum, sumMemory } from './measurement.ts';
import { fileSystem, interfaceList, memoryStats, nanoCores } from './summary-parts.ts';

/** The disk usage of a pod at its last measurement. */
export interface StoredByPod {
  readonly at: Instant;
  readonly storage: { readonly emptyDirs: ReadonlyMap<string, number>; readonly files: number };
  readonly parts: ReadonlyMap<string, { readonly layerBytes: number; readonly logBytes: number }>;
}

/** The measured usage of a node, and since when it is up. */
export interface Summarized {
  readonly node: string;
  readonly startedAt: Instant;
  readonly capacityBytes: number;
  readonly measured: Measurement;
  readonly nodeUsage: Usage | undefined;
  readonly podUsage: readonly PodUsage[];
  /** The engine's host. The nodes on it share its disk and network. */
  readonly host: HostReading;
  /** Undefined when it could not be read. */
  readonly network: readonly InterfaceStats[] | undefined;
  /** Undefined for a pod whose storage is not measured. */
  readonly storageOf: (podUid: string) => StoredByPod | undefined;
  readonly parts: 'all' | 'cpu-and-memory';
}

/** The content of `/stats/summary`: the measured parts of the kubelet's `stats/v1alpha1.Summary`. */
export function statsSummary(summarized: Summarized): object {
  const { measured, podUsage } = summarized;
  const usage = new Map(podUsage.map(({ uid, containers }) => [uid, containers]));
  return {
    node: nodeStats(summarized),
    pods: measured.pods.map((pod) => podStats(pod, summarized, usage.get(pod.identity.uid) ?? [])),
  };
}

function nodeStats(summarized: Summarized): object {
  const { node, startedAt, capacityBytes, measured, nodeUsage, parts } = summarized;
  const time = formatTime(measured.at);
  const { cpuNanos, memoryBytes, memoryUsageBytes, memory } = measured.node;
  return {
    nodeName: node,
    startTime: formatTime(startedAt),
    cpu: { time, ...nanoCores(nodeUsage?.cpuNanoCores), usageCoreNanoSeconds: Math.round(cpuNanos) },
    memory: {
      time,
      availableBytes: Math.max(0, capacityBytes - memoryBytes),
      usageBytes: memoryUsageBytes,
      // Page faults are omitted, because their sum would decrease whenever a container ends.
      rssBytes: memory?.rssBytes,
      workingSetBytes: memoryBytes,
    },
    ...(parts === 'all' ? hostStats(time, summarized) : {}),
  };
}

function hostStats(time: string, { host: { disk, processes }, network }: Summarized): object {
  const fs = fileSystem(time, disk, disk.capacityBytes - disk.availableBytes);
  return {
    ...(network === undefined ? {} : { network: interfaceList(time, network) }),
    fs,
    runtime: { imageFs: fileSystem(time, disk), containerFs: fs },
    rlimit: { time, maxpid: processes.capacity, curproc: processes.capacity - processes.available },
  };
}

function podStats(pod: MeasuredPod, summarized: Summarized, usage: PodUsage['containers']): object {
  const { measured, host, parts } = summarized;
  const { identity, startedAt, containers } = pod;
  const time = formatTime(measured.at);
  const stored = parts === 'all' ? summarized.storageOf(identity.uid) : undefined;
  const coresOf = ({ state }: MeasuredContainer) => usage.find(({ name }) => name === state.name)?.usage.cpuNanoCores;
  const cores = containers.map(coresOf);
  const known = cores.filter((value) => value !== undefined);
  const stats = containers.map((one) => one.stats);
  return {
    podRef: { name: identity.name, namespace: identity.namespace, uid: identity.uid },
    ...(startedAt === undefined ? {} : { startTime: formatTime(startedAt) }),
    containers: containers.map((one, index) => ({
      ...containerStats(one, cores[index]),
      ...containerStorage(one.state.name, stored, host.disk),
    })),
    cpu: {
      time,
      ...nanoCores(known.length === cores.length && known.length > 0 ? sum(known) : undefined),
      usageCoreNanoSeconds: Math.round(sum(stats.map(({ cpuNanos }) => cpuNanos))),
    },
    memory: memoryStats(time, podMemory(stats)),
    ...podStorage(stored, host.disk),
    ...(parts === 'all' ? podRest(pod, time) : {}),
  };
}

function podMemory(containers: readonly ContainerStats[]): Parameters<typeof memoryStats>[1] {
  const memory = sumMemory(containers);
  return {
    memoryBytes: sum(containers.map(({ memoryBytes }) => memoryBytes)),
    memoryUsageBytes: sum(containers.map(({ memoryUsageBytes }) => memoryUsageBytes)),
    memory,
  };
}

function podRest({ sandbox, containers }: MeasuredPod, time: string): object {
  const processes = containers.flatMap(({ stats }) => stats.processes ?? []);
  const areCounted = processes.length === containers.length && containers.length > 0;
  return {
    ...(sandbox === undefined ? {} : { network: interfaceList(time, sandbox.interfaces) }),
    ...(areCounted ? { process_stats: { process_count: sum(processes) } } : {}),
  };
}

function containerStats({ state, stats }: MeasuredContainer, cores: number | undefined): object {
  const time = formatTime(stats.at);
  const limit = state.resources.memoryBytes;
  return {
    name: state.name,
    startTime: formatTime(state.startedAt ?? state.createdAt),
    cpu: { time, ...nanoCores(cores), usageCoreNanoSeconds: Math.round(stats.cpuNanos) },
    memory: memoryStats(time, stats, limit),
  };
}

function containerStorage(name: string, stored: StoredByPod | undefined, disk: HostReading['disk']): object {
  const parts = stored?.parts.get(name);
  if (stored === undefined || parts === undefined) return {};
  const time = formatTime(stored.at);
  return { rootfs: fileSystem(time, disk, parts.layerBytes), logs: fileSystem(time, disk, parts.logBytes) };
}

function podStorage(stored: StoredByPod | undefined, disk: HostReading['disk']): object {
  if (stored === undefined) return {};
  const time = formatTime(stored.at);
  const { emptyDirs, files } = stored.storage;
  const ofContainers = [...stored.parts.values()].map(({ layerBytes, logBytes }) => layerBytes + logBytes);
  return {
    volume: [...emptyDirs].map(([name, bytes]) => ({ ...fileSystem(time, disk, bytes), name })),
    'ephemeral-storage': fileSystem(time, disk, sum([files, ...emptyDirs.values(), ...ofContainers])),
  };
}
