import type { Metrics } from '@gantry/service';
import type { ClusterView } from './cluster-view.ts';
import type { Haproxy } from './haproxy/haproxy.ts';
import type { ProgrammerOptions } from './programmer.ts';

export function programmerMetrics(metrics: Metrics, view: ClusterView, haproxy: Haproxy): ProgrammerOptions['metrics'] {
  metrics.gauge('ingress_routes', 'Served hosts with paths', [], (gauge) =>
    gauge.set((view.plan?.exact.size ?? 0) + (view.plan?.prefix.size ?? 0)),
  );
  metrics.gauge('ingress_certificates', 'Hosts with a certificate', [], (gauge) =>
    gauge.set(view.plan?.certificates.size ?? 0),
  );
  metrics.counter('ingress_worker_starts_total', 'Workers of HAProxy that replaced another worker', [], (counter) =>
    counter.inc({}, haproxy.reloads),
  );
  return {
    seconds: metrics.histogram('ingress_change_seconds', 'Time to plan and make a change of HAProxy'),
    failures: metrics.counter('ingress_change_failures_total', 'Failed changes of HAProxy'),
  };
}
