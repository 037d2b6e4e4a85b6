import type { Source } from './read-artifacts.ts';

/** A broken invariant. */
export interface Violation {
  readonly what: string;
  readonly atMs: number;
  /** `file:line` of the artefacts that show it, relative to the run's folder. */
  readonly evidence: readonly string[];
}

/** What the run says of one invariant. */
export interface InvariantVerdict {
  /** `I1` to `I35`. */
  readonly invariant: string;
  readonly title: string;
  /** How many cases were decided, and of what: `leader writes`. */
  readonly checked: number;
  readonly unit: string;
  readonly violationCount: number;
  /** The first of them. */
  readonly violations: readonly Violation[];
  /** Why nothing, or not everything, was decided. */
  readonly notChecked?: string;
}

/** What clients of a load at a rate saw. Times are milliseconds from when a request was due to its known outcome. */
export interface ClientLoad {
  /** `faults`: of requests during which a fault acted, or the cluster was not yet healthy after one. */
  readonly during: 'calm' | 'faults';
  readonly requests: number;
  /** Requests that were sent more than once, because an outcome was unknown. */
  readonly repeated: number;
  /** Requests whose last attempt was not acknowledged. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The longest time without an acknowledged request of any client. */
  readonly longestGapMs: number;
}

/** The verdict on a run. */
export interface Verdict {
  /**
   * ok: no violation. violations: at least one. unusable: none was found, but the artefacts are incomplete, so that nothing follows from
   * that.
   */
  readonly outcome: 'ok' | 'violations' | 'unusable';
  readonly problems: readonly string[];
  /** What the campaign itself found wrong, such as a cluster that did not become healthy. */
  readonly found: readonly string[];
  readonly invariants: readonly InvariantVerdict[];
  /** What clients of a load at a rate saw; empty if the run has none. */
  readonly loads: readonly ClientLoad[];
}

/** What the lines before a time say of a run that goes on. An invariant without a decided case has `notChecked`. */
export interface VerdictSoFar {
  readonly untilMs: number;
  readonly invariants: readonly InvariantVerdict[];
}

/** A line of `check --follow`. `cpuMs` is the processor time of the check. */
export type FollowAnswer = (VerdictSoFar | { readonly untilMs: number; readonly problem: string }) & {
  readonly cpuMs: number;
};

const MAX_VIOLATIONS = 100;
const MAX_EVIDENCE = 12;

/** Collects what one invariant finds. Keeps the first violations and counts all. */
export class Findings {
  #checked = 0;
  #count = 0;
  readonly #violations: Violation[] = [];
  readonly #undecided = new Map<string, number>();

  /** Another case was decided. */
  checked(cases = 1): void {
    this.#checked += cases;
  }

  /** The invariant does not hold. `sources` show it; undefined ones are left out. */
  violation(atMs: number, what: string, ...sources: readonly (Source | undefined)[]): void {
    this.#count++;
    if (this.#violations.length >= MAX_VIOLATIONS) return;
    const known = sources.filter((source) => source !== undefined).slice(0, MAX_EVIDENCE);
    this.#violations.push({ what, atMs, evidence: known.map(({ file, line }) => `${file}:${line}`) });
  }

  /** A case that the artefacts cannot decide. The same reasons are counted. */
  undecided(reason: string): void {
    this.#undecided.set(reason, (this.#undecided.get(reason) ?? 0) + 1);
  }

  /** The verdict. Without a decided case it says that nothing was checked, and why. */
  verdict(invariant: string, title: string, unit: string, missing: string | undefined): InvariantVerdict {
    const reasons = [...this.#undecided].map(([reason, cases]) => (cases === 1 ? reason : `${reason} (${cases})`));
    if (missing !== undefined) reasons.unshift(missing);
    else if (this.#checked === 0 && reasons.length === 0) reasons.push(`the run has no ${unit}`);
    return {
      invariant,
      title,
      checked: this.#checked,
      unit,
      violationCount: this.#count,
      violations: this.#violations,
      ...(reasons.length > 0 && { notChecked: reasons.join('; ') }),
    };
  }
}
