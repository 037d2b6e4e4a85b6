import type { ContainerStatus, Pod, PodStatus } from '@gantry/objects';
import type { Histogram, Metrics } from '@gantry/service';
import type { NodePodView } from './static-pods/node-pod-view.ts';

const STATUSES = [
  ['init_container', 'initContainerStatuses'],
  ['container', 'containerStatuses'],
  ['ephemeral_container', 'ephemeralContainerStatuses'],
] as const satisfies readonly (readonly [string, keyof PodStatus])[];

export function engineRequests(metrics: Metrics): Histogram {
  return metrics.histogram('gantry_engine_request_seconds', 'Requests to the engine, by method and path', ['call']);
}

export function reportNode(metrics: Metrics, node: string, pods: Pick<NodePodView, 'list'>): void {
  metrics.gauge('kubelet_node_name', "The node's name, as a label; the value is always 1", ['node']).set(1, { node });
  metrics.gauge('kubelet_running_pods', 'Pods with a running sandbox', [], (gauge) =>
    gauge.set(pods.list().filter(({ status }) => status?.phase === 'Running').length),
  );
}

/** The kubelet's metric: counts each container that is terminated in a written status, but not in the previous one. */
export function terminationCounter(metrics: Metrics): (before: Pod, after: Pod) => void {
  const total = metrics.counter(
    'kubelet_terminated_containers_total',
    'Containers whose termination was reported for the first time in a status',
    ['container_type', 'exit_code', 'reason'],
  );
  return (before, after) => {
    for (const [type, field] of STATUSES) {
      for (const { exitCode, reason = '' } of newlyTerminated(
        before.status?.[field] ?? [],
        after.status?.[field] ?? [],
      )) {
        total.inc({ container_type: type, exit_code: String(exitCode), reason });
      }
    }
  };
}

function newlyTerminated(before: readonly ContainerStatus[], after: readonly ContainerStatus[]) {
  const ended = new Set(before.filter(({ state }) => state?.terminated !== undefined).map(({ name }) => name));
  return after.flatMap(({ name, state }) => (ended.has(name) ? [] : (state?.terminated ?? [])));
}
