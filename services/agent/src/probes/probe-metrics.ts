import type { PodIdentity } from '../runtime/labels.ts';
import type { ProbeKind } from './probe-counter.ts';

/** Upper bounds of the histogram of durations, in seconds: the defaults of Prometheus' clients. */
export const DURATION_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The totals of one probe of a container. */
export interface ProbeTotals {
  readonly pod: PodIdentity;
  readonly container: string;
  readonly kind: ProbeKind;
  readonly successes: number;
  readonly failures: number;
  /** For successes: how many took at most each bound, and the sum of their durations in seconds. */
  readonly within: readonly number[];
  readonly seconds: number;
}

/** Counts the outcomes of probes by pod, as long as the pod is probed. Counts continue when a container restarts. */
export class ProbeMetrics {
  readonly #pods = new Map<string, Map<string, ProbeTotals>>();

  count(
    pod: PodIdentity,
    container: string,
    kind: ProbeKind,
    outcome: { readonly kind: 'success' | 'failure'; readonly seconds: number },
  ): void {
    const ofPod = this.#pods.get(pod.uid) ?? new Map<string, ProbeTotals>();
    this.#pods.set(pod.uid, ofPod);
    const key = `${kind} ${container}`;
    const before = ofPod.get(key) ?? none(pod, container, kind);
    ofPod.set(key, after(before, outcome));
  }

  /** Removes the totals of a pod that is no longer probed. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  totals(): readonly ProbeTotals[] {
    return [...this.#pods.values()].flatMap((ofPod) => [...ofPod.values()]);
  }
}

function none(pod: PodIdentity, container: string, kind: ProbeKind): ProbeTotals {
  const within = DURATION_BOUNDS.map(() => 0);
  return { pod, container, kind, successes: 0, failures: 0, within, seconds: 0 };
}

function after(before: ProbeTotals, { kind, seconds }: { kind: 'success' | 'failure'; seconds: number }): ProbeTotals {
  if (kind === 'failure') return { ...before, failures: before.failures + 1 };
  return {
    ...before,
    successes: before.successes + 1,
    within: before.within.map((count, i) => count + (seconds <= (DURATION_BOUNDS[i] ?? 0) ? 1 : 0)),
    seconds: before.seconds + seconds,
  };
}
