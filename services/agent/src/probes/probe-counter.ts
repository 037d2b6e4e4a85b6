import type { Container, Probe } from '@gantry/api';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** What one probe of a container has found so far. */
export interface ProbeCount {
  readonly result: 'passing' | 'failing' | 'unknown';
  /** How often in a row the last outcome came. */
  readonly streak: number;
  readonly last: 'success' | 'failure' | 'none';
}

export const NO_COUNT: ProbeCount = { result: 'unknown', streak: 0, last: 'none' };

/** The count after one more outcome: the result turns when a threshold of equal outcomes in a row is reached. */
export function countProbe(probe: Probe, count: ProbeCount, outcome: 'success' | 'failure'): ProbeCount {
  const streak = count.last === outcome ? count.streak + 1 : 1;
  const threshold = outcome === 'success' ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
  const result = streak < threshold ? count.result : outcome === 'success' ? 'passing' : 'failing';
  return { result, streak, last: outcome };
}

export type ProbeCounts = Readonly<Record<ProbeKind, ProbeCount>>;

/** What the counts of a container's probes mean for it. */
export function judgeProbes(
  container: Container,
  counts: ProbeCounts,
): { readonly started: boolean; readonly ready: boolean; readonly failed?: 'liveness' | 'startup' } {
  const started = container.startupProbe === undefined || counts.startup.result === 'passing';
  const ready = started && (container.readinessProbe === undefined || counts.readiness.result === 'passing');
  if (!started && counts.startup.result === 'failing') return { started, ready, failed: 'startup' };
  if (started && counts.liveness.result === 'failing') return { started, ready, failed: 'liveness' };
  return { started, ready };
}

/** The probes of a container that are due to run now: nothing else runs before the startup probe has passed. */
export function runsNow(container: Container, kind: ProbeKind, counts: ProbeCounts): boolean {
  const isStarted = container.startupProbe === undefined || counts.startup.result === 'passing';
  return kind === 'startup' ? !isStarted : isStarted;
}
