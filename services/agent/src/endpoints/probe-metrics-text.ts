import type { ProbeKind } from '../probes/probe-counter.ts';
import { DURATION_BOUNDS, type ProbeTotals } from '../probes/probe-metrics.ts';
import { family, prometheusText, type Sample } from './prometheus-text.ts';

const TYPES: Readonly<Record<ProbeKind, string>> = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' };
const RESULTS = '[ALPHA] Cumulative number of a liveness, readiness or startup probe for a container by result.';
const DURATION = '[ALPHA] Duration in seconds for a probe response.';

/** The content of `/metrics/probes`, with the kubelet's names. Like there, durations cover only successful probes. */
export function probeMetricsText(totals: readonly ProbeTotals[]): string {
  return prometheusText([
    family('prober_probe_duration_seconds', 'histogram', DURATION, totals.flatMap(durations)),
    family('prober_probe_total', 'counter', RESULTS, totals.flatMap(results)),
  ]);
}

const labelsOf = ({ pod: { namespace, name }, container, kind }: ProbeTotals) => ({
  container,
  namespace,
  pod: name,
  probe_type: TYPES[kind],
});

/** A result that never occurred has no series. */
function results(totals: ProbeTotals): readonly Sample[] {
  const { pod, successes, failures } = totals;
  const counts: readonly (readonly [string, number])[] = [
    ['failed', failures],
    ['successful', successes],
  ];
  return counts
    .filter(([, value]) => value > 0)
    .map(([result, value]) => ({ labels: { ...labelsOf(totals), pod_uid: pod.uid, result }, value }));
}

function durations(totals: ProbeTotals): readonly Sample[] {
  const { successes, within, seconds } = totals;
  if (successes === 0) return [];
  const labels = labelsOf(totals);
  const bucket = (le: string, value: number): Sample => ({
    suffix: '_bucket',
    labels: { ...labels, le },
    value,
  });
  return [
    ...DURATION_BOUNDS.map((bound, i) => bucket(String(bound), within[i] ?? 0)),
    bucket('+Inf', successes),
    { suffix: '_sum', labels, value: seconds },
    { suffix: '_count', labels, value: successes },
  ];
}
