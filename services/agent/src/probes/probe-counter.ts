import type { Container, Probe } from '@gantry/objects';

/** The purpose of a probe. */
export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** The results of a container's probe so far. */
export interface ProbeCount {
  readonly result: 'passing' | 'failing' | 'unknown';
  /** How many times in a row the last outcome occurred. */
  readonly streak: number;
  readonly last: 'success' | 'failure' | 'none';
}

/** The count of a probe that has not run yet. */
export const NO_COUNT: ProbeCount = { result: 'unknown', streak: 0, last: 'none' };

/** The count after one more outcome. The result changes when enough equal outcomes in a row have reached the threshold. */
export function countProbe(probe: Probe, count: ProbeCount, outcome: 'success' | 'failure'): ProbeCount {
  const streak = count.last === outcome ? count.streak + 1 : 1;
  const threshold = outcome === 'success' ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
  const result = streak < threshold ? count.result : outcome === 'success' ? 'passing' : 'failing';
  return { result, streak, last: outcome };
}

/** The counts of one container's probes. */
export type ProbeCounts = Readonly<Record<ProbeKind, ProbeCount>>;

/** The conclusions from a container's probes. */
export interface ProbeJudgement {
  readonly started: boolean;
  readonly ready: boolean;
  /** The failed probe because of which the container must be restarted. */
  readonly failed?: 'liveness' | 'startup';
}

/** A judgement together with the container that was probed. */
export interface ProbeFindings extends ProbeJudgement {
  readonly containerId: string;
}

/**
 * The first counts for the probes of a container that a former agent has reported: probes that had passed count as passed (KEP-4781).
 */
export function knownCounts({ started, ready }: ProbeJudgement): Record<ProbeKind, ProbeCount> {
  const passed: ProbeCount = { result: 'passing', streak: 1, last: 'success' };
  return { startup: started ? passed : NO_COUNT, readiness: ready ? passed : NO_COUNT, liveness: NO_COUNT };
}

/** Judges a container by its probes. Without a startup or readiness probe, it counts as started or ready. */
export function judgeProbes(container: Container, counts: ProbeCounts): ProbeJudgement {
  const started = container.startupProbe === undefined || counts.startup.result === 'passing';
  const ready = started && (container.readinessProbe === undefined || counts.readiness.result === 'passing');
  if (!started && counts.startup.result === 'failing') return { started, ready, failed: 'startup' };
  if (started && counts.liveness.result === 'failing') return { started, ready, failed: 'liveness' };
  return { started, ready };
}

/** Whether a probe of a container runs now. Until the startup probe has passed, no other probe runs. */
export function runsNow(container: Container, kind: ProbeKind, counts: ProbeCounts): boolean {
  const isStarted = container.startupProbe === undefined || counts.startup.result === 'passing';
  return kind === 'startup' ? !isStarted : isStarted;
}
