import { expect, it } from 'vitest';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { probeMetricsText } from './probe-metrics-text.ts';

const WEB = { namespace: 'default', name: 'web', uid: 'uid-1' };
const linesOf = (metrics: ProbeMetrics) => probeMetricsText(metrics.totals()).split('\n').slice(0, -1);

it('shows how often each probe passed and failed, and how long those took that passed', () => {
  const metrics = new ProbeMetrics();
  for (const seconds of [0.005, 0.75, 60]) metrics.count(WEB, 'main', 'readiness', { kind: 'success', seconds });
  metrics.count(WEB, 'main', 'readiness', { kind: 'failure', seconds: 3 });
  metrics.count(WEB, 'side', 'liveness', { kind: 'failure', seconds: 1 });
  const labels = (container: string, type: string) =>
    `container="${container}",namespace="default",pod="web",pod_uid="uid-1",probe_type="${type}"`;
  const pod = 'namespace="default",pod="web",probe_type="Readiness"';
  const bucket = (le: string, count: number) =>
    `prober_probe_duration_seconds_bucket{container="main",le="${le}",${pod}} ${count}`;
  expect(linesOf(metrics)).toEqual([
    '# HELP prober_probe_duration_seconds [ALPHA] Duration in seconds for a probe response.',
    '# TYPE prober_probe_duration_seconds histogram',
    ...['0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5'].map((le) => bucket(le, 1)),
    ...['1', '2.5', '5', '10'].map((le) => bucket(le, 2)),
    bucket('+Inf', 3),
    `prober_probe_duration_seconds_sum{container="main",${pod}} 60.755`,
    `prober_probe_duration_seconds_count{container="main",${pod}} 3`,
    '# HELP prober_probe_total [ALPHA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
    '# TYPE prober_probe_total counter',
    `prober_probe_total{${labels('main', 'Readiness')},result="failed"} 1`,
    `prober_probe_total{${labels('main', 'Readiness')},result="successful"} 3`,
    `prober_probe_total{${labels('side', 'Liveness')},result="failed"} 1`,
  ]);
});

it('forgets a pod, and no other one', () => {
  const metrics = new ProbeMetrics();
  for (const pod of [WEB, { ...WEB, name: 'db', uid: 'uid-2' }]) {
    metrics.count(pod, 'main', 'startup', { kind: 'failure', seconds: 1 });
  }
  metrics.forget('uid-1');
  expect(linesOf(metrics).filter((line) => !line.startsWith('#'))).toEqual([
    'prober_probe_total{container="main",namespace="default",pod="db",pod_uid="uid-2",probe_type="Startup",result="failed"} 1',
  ]);
});
