import type { StaleReport } from '@gantry/controller-runtime';
import type { Counter, Metrics } from '@gantry/service';

/** Kubernetes has a separate metric for each of these; ReplicationControllers share that of ReplicaSets. */
export function staleReporter(metrics: Metrics): (report: StaleReport) => void {
  const skips = (subsystem: string) =>
    metrics.counter(
      `${subsystem}_controller_stale_sync_skips_total`,
      'Reconciles that were postponed because the cache does not yet show the last write; the labels name the missing object',
      ['group', 'resource'],
    );
  const sets = skips('replicaset');
  const counters: Readonly<Record<string, Counter>> = {
    'replica-set': sets,
    replication: sets,
    'daemon-set': skips('daemonset'),
    'stateful-set': skips('statefulset'),
    job: skips('job'),
  };
  return ({ controller, resource: { group, resource } }) => counters[controller]?.inc({ group, resource });
}
