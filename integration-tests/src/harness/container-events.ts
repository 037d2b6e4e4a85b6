import type { Cluster } from './cluster.ts';
import { startProgram } from './process.ts';

/** A start or an end of a container of a pod. */
export interface ContainerEvent {
  readonly what: 'start' | 'die';
  readonly podUid: string;
  readonly container: string;
  /** Of an end. */
  readonly exitCode: string;
}

/** The engine's events of containers since it was begun, in their order. Dispose of it to end it. */
export interface ContainerEvents extends AsyncDisposable {
  readonly events: () => readonly ContainerEvent[];
}

/** What the engine writes of an event. */
interface WrittenEvent {
  readonly Action: ContainerEvent['what'];
  readonly Actor: { readonly Attributes: Readonly<Record<string, string>> };
}

/** Records the starts and ends of the cluster's containers with these labels. */
export async function recordContainerEvents(cluster: Cluster, labels: readonly string[]): Promise<ContainerEvents> {
  const since = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  const filters = [
    ...['event=start', 'event=die'],
    ...[`gantry.cluster=${cluster.clusterId}`, ...labels].map((label) => `label=${label}`),
  ];
  const args = ['--since', since, '--format', '{{json .}}', ...filters.flatMap((filter) => ['--filter', filter])];
  const running = startProgram('docker', ['events', ...args], {});
  return {
    events: () => {
      const lines = running.output().split('\n').slice(0, -1);
      return lines.map((line) => eventOf(JSON.parse(line) as WrittenEvent));
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

function eventOf({ Action: what, Actor: { Attributes: attributes } }: WrittenEvent): ContainerEvent {
  return {
    what,
    podUid: attributes['io.kubernetes.pod.uid'] ?? '',
    container: attributes['io.kubernetes.container.name'] ?? '',
    exitCode: attributes['exitCode'] ?? '',
  };
}
