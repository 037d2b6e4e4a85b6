import type { Instant } from '@gantry/base';
import type { EngineInfo } from '../runtime/engine.ts';
import type { MeasuredContainer, MeasuredPod, Measurement } from './measurement.ts';

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  readonly at?: Instant;
}

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** What `/metrics/resource` shows, with kubelet's names. */
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
  return text([
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

/** What `/metrics/cadvisor` shows, with cAdvisor's names. */
export function cadvisorMetrics(measured: Measurement, engine: EngineInfo): string {
  const ofContainers = (value: (one: MeasuredContainer) => number) =>
    containersOf(measured).map(([pod, one]) => ({
      labels: {
        container: one.state.name,
        id: `/docker/${one.state.id}`,
        image: one.state.image,
        name: one.state.id,
        namespace: pod.identity.namespace,
        pod: pod.identity.name,
      },
      value: value(one),
      at: one.stats.at,
    }));
  const withCpu = ofContainers(seconds).map((sample) => ({ ...sample, labels: { ...sample.labels, cpu: 'total' } }));
  const machine = (value: number) => [{ labels: {}, value }];
  return text([
    family('container_cpu_usage_seconds_total', 'counter', 'Cumulative cpu time consumed in seconds.', withCpu),
    family(
      'container_last_seen',
      'gauge',
      'Last time a container was seen by the exporter',
      ofContainers(({ stats }) => Math.floor(stats.at / 1000)),
    ),
    family('container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.', ofContainers(memory)),
    family('container_start_time_seconds', 'gauge', START, ofContainers(started)),
    family('machine_cpu_cores', 'gauge', 'Number of logical CPU cores.', machine(engine.cpus)),
    family('machine_memory_bytes', 'gauge', 'Amount of memory installed on the machine.', machine(engine.memoryBytes)),
  ]);
}

const CPU = (what: string) => `[STABLE] Cumulative cpu time consumed by the ${what} in core-seconds`;
const MEMORY = (what: string) => `[STABLE] Current working set of the ${what} in bytes`;
const START = 'Start time of the container since unix epoch in seconds';
const SCRAPE = '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise';

const seconds = ({ stats }: MeasuredContainer) => stats.cpuNanos / 1e9;
const memory = ({ stats }: MeasuredContainer) => stats.memoryBytes;
const started = ({ state }: MeasuredContainer) => (state.startedAt ?? state.createdAt) / 1000;

function containersOf({ pods }: Measurement): readonly (readonly [MeasuredPod, MeasuredContainer])[] {
  return pods.flatMap((pod) => pod.containers.map((one) => [pod, one] as const));
}

function family(name: string, type: Family['type'], help: string, samples: readonly Sample[]): Family {
  return { name, type, help, samples };
}

/** Prometheus' text form; families without samples are left out. */
function text(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(
        ({ labels, value, at }) =>
          `${name}${labelText(labels)} ${value}${at === undefined ? '' : ` ${Math.round(at)}`}`,
      );
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
    })
    .join('');
}

function labelText(labels: Labels): string {
  const entries = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return '';
  return `{${entries.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
