import { containersOf, type MeasuredContainer, type Measurement } from './measurement.ts';
import { family, prometheusText } from './prometheus-text.ts';

/** The content of `/metrics/resource`, with the kubelet's names. */
export function resourceMetrics(measured: Measurement): string {
  const { at, node } = measured;
  const ofContainers = (value: (one: MeasuredContainer) => number) =>
    containersOf(measured).map(([pod, one]) => ({
      labels: { container: one.state.name, namespace: pod.identity.namespace, pod: pod.identity.name },
      value: value(one),
      at: one.stats.at,
    }));
  const ofPods = (value: (one: MeasuredContainer) => number) =>
    measured.pods
      .filter(({ containers }) => containers.length > 0)
      .map(({ identity, containers }) => ({
        labels: { namespace: identity.namespace, pod: identity.name },
        value: containers.reduce((sum, one) => sum + value(one), 0),
        at,
      }));
  const ofNode = (value: number) => [{ labels: {}, value, at }];
  return prometheusText([
    family('container_cpu_usage_seconds_total', 'counter', CPU('container'), ofContainers(seconds)),
    family('container_memory_working_set_bytes', 'gauge', MEMORY('container'), ofContainers(memory)),
    family('container_start_time_seconds', 'gauge', START, ofContainers(started)),
    family('node_cpu_usage_seconds_total', 'counter', CPU('node'), ofNode(node.cpuNanos / 1e9)),
    family('node_memory_working_set_bytes', 'gauge', MEMORY('node'), ofNode(node.memoryBytes)),
    family('pod_cpu_usage_seconds_total', 'counter', CPU('pod'), ofPods(seconds)),
    family('pod_memory_working_set_bytes', 'gauge', MEMORY('pod'), ofPods(memory)),
    family('resource_scrape_error', 'gauge', SCRAPE, [{ labels: {}, value: 0 }]),
  ]);
}

const CPU = (what: string) => `[STABLE] Cumulative cpu time consumed by the ${what} in core-seconds`;
const MEMORY = (what: string) => `[STABLE] Current working set of the ${what} in bytes`;
const START = 'Start time of the container since unix epoch in seconds';
const SCRAPE = '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise';

const seconds = ({ stats }: MeasuredContainer) => stats.cpuNanos / 1e9;
const memory = ({ stats }: MeasuredContainer) => stats.memoryBytes;
const started = ({ state }: MeasuredContainer) => (state.startedAt ?? state.createdAt) / 1000;
