import type { Metrics } from '@gantry/service';
import type { TunnelMetrics } from './hosts/tunnel-keeper.ts';
import type { ProgrammerMetrics } from './programmer.ts';

export function programmerMetrics(metrics: Metrics): ProgrammerMetrics {
  return {
    seconds: metrics.histogram('kubeproxy_sync_proxy_rules_duration_seconds', 'Time of a transaction of rules', [
      'kind',
    ]),
    failures: metrics.counter(
      'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
      'Failed transactions of rules',
    ),
    latency: metrics.histogram(
      'kubeproxy_network_programming_duration_seconds',
      "Time from a pod's change to its rules",
    ),
  };
}

export function tunnelMetrics(metrics: Metrics): TunnelMetrics {
  return {
    hosts: metrics.gauge('gantry_proxy_other_hosts', 'Other Docker hosts whose pods are reachable'),
    failures: metrics.counter('gantry_proxy_tunnel_failures_total', 'Failed changes of the tunnel to other hosts'),
  };
}
