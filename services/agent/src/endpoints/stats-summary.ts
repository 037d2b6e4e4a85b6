import { formatTime, type Instant } from '@gantry/base';
import type { Usage } from '../usage/container-usage.ts';
import type { PodUsage } from '../usage/usage-sampler.ts';
import type { MeasuredContainer, MeasuredPod, Measurement } from './measurement.ts';

/** What a node was found to use, and since when it is up. */
interface Summarized {
  readonly node: string;
  readonly startedAt: Instant;
  readonly capacityBytes: number;
  readonly measured: Measurement;
  readonly nodeUsage: Usage | undefined;
  readonly podUsage: readonly PodUsage[];
}

/** What `/stats/summary` shows: kubelet's `stats/v1alpha1.Summary`, as far as it is measured. */
export function statsSummary({ node, startedAt, capacityBytes, measured, nodeUsage, podUsage }: Summarized): object {
  const usage = new Map(podUsage.map(({ uid, containers }) => [uid, containers]));
  const time = formatTime(measured.at);
  const { cpuNanos, memoryBytes } = measured.node;
  return {
    node: {
      nodeName: node,
      startTime: formatTime(startedAt),
      cpu: { time, ...nanoCores(nodeUsage?.cpuNanoCores), usageCoreNanoSeconds: Math.round(cpuNanos) },
      memory: {
        time,
        availableBytes: Math.max(0, capacityBytes - memoryBytes),
        workingSetBytes: memoryBytes,
      },
    },
    pods: measured.pods.map((pod) => podStats(pod, time, usage.get(pod.identity.uid) ?? [])),
  };
}

function podStats({ identity, startedAt, containers }: MeasuredPod, time: string, usage: PodUsage['containers']) {
  const coresOf = ({ state }: MeasuredContainer) => usage.find(({ name }) => name === state.name)?.usage.cpuNanoCores;
  const cores = containers.map(coresOf);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const known = cores.filter((value) => value !== undefined);
  return {
    podRef: { name: identity.name, namespace: identity.namespace, uid: identity.uid },
    ...(startedAt === undefined ? {} : { startTime: formatTime(startedAt) }),
    containers: containers.map((one, index) => ({
      name: one.state.name,
      startTime: formatTime(one.state.startedAt ?? one.state.createdAt),
      cpu: {
        time: formatTime(one.stats.at),
        ...nanoCores(cores[index]),
        usageCoreNanoSeconds: Math.round(one.stats.cpuNanos),
      },
      memory: { time: formatTime(one.stats.at), workingSetBytes: one.stats.memoryBytes },
    })),
    cpu: {
      time,
      ...nanoCores(known.length === cores.length && known.length > 0 ? sum(known) : undefined),
      usageCoreNanoSeconds: Math.round(sum(containers.map(({ stats }) => stats.cpuNanos))),
    },
    memory: { time, workingSetBytes: sum(containers.map(({ stats }) => stats.memoryBytes)) },
  };
}

function nanoCores(value: number | undefined): object {
  return value === undefined ? {} : { usageNanoCores: Math.round(value) };
}
