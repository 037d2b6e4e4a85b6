import { type Clock, formatTime } from '@gantry/base';
import type { InvariantVerdict, Verdict } from '@gantry/chaos-checker';
import { type CheckedResult, saysNothing } from '../campaign.ts';
import { Leaders } from '../elections.ts';
import { faultName } from '../fault.ts';
import {
  type CampaignView,
  describeChecks,
  describeEvents,
  describeResult,
  seconds,
  violationsOf,
} from '../show-lines.ts';
import { Tally } from '../workloads/tally.ts';
import type { ChaosRunStatus } from './kinds.ts';

const KEPT_LINES = 100;
const MAX_VIOLATIONS = 50;
const MAX_TEXT = 500;

/** What the status of a ChaosRun says while its campaign runs. */
export class RunStatus {
  readonly view: CampaignView;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #leaders = new Leaders();
  readonly #active = new Map<string, { readonly fault: string; readonly detail: string; readonly endsAt: string }>();
  readonly #lines: string[] = [];
  #tally = new Tally();
  #known: ChaosRunStatus;

  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#since = clock.monotonicMs();
    this.#known = { phase: 'Preparing', seed, startedAt: formatTime(clock.now()) };
    const events = describeEvents((text) => this.#say(text), this.#leaders);
    this.view = {
      ...events,
      onPlan: (faults, folder) => {
        this.#known = { ...this.#known, plannedFaults: faults.length, folder, replay: replayOf(folder) };
        events.onPlan(faults, folder);
      },
      onPhase: (text) => {
        this.#known = { ...this.#known, message: short(text) };
        events.onPhase(text);
      },
      onWorking: (tally) => {
        this.#tally = tally;
        this.#known = { ...this.#known, phase: 'Running', message: 'the workloads work' };
      },
      onStart: (fault, detail) => {
        const endsAt = formatTime(clock.now() + fault.durationMs);
        this.#active.set(fault.id, { fault: faultName(fault), detail: short(detail), endsAt });
        const { startedFaults = 0 } = this.#known;
        this.#known = { ...this.#known, startedFaults: startedFaults + 1, message: `${faultName(fault)} acts` };
        events.onStart(fault, detail);
      },
      onVerdict: (verdict) => {
        const { untilMs, invariants } = verdict;
        this.#known = {
          ...this.#known,
          checkedUntil: formatTime(clock.now() - (clock.monotonicMs() - untilMs)),
          checks: `so far ${describeChecks(verdict)}`,
          violations: violationsOf(verdict).slice(0, MAX_VIOLATIONS).map(short),
          invariants: invariants.map(describeInvariant),
        };
        events.onVerdict(verdict);
      },
      onHeal: (fault) => {
        this.#active.delete(fault.id);
        events.onHeal(fault);
      },
      onResult: (result) => {
        for (const line of describeResult(result)) this.#say(line);
      },
      [Symbol.dispose]: () => {},
    };
  }

  get current(): ChaosRunStatus {
    const { acknowledged, refused, unknown, longestGapMs } = this.#tally;
    return {
      ...this.#known,
      active: [...this.#active.values()],
      leaders: [...this.#leaders.all],
      requests: { acknowledged, refused, unknown },
      longestGapMs: Math.round(longestGapMs),
      lines: [...this.#lines],
    };
  }

  end({ result, verdict }: { readonly result: CheckedResult; readonly verdict: Verdict }): ChaosRunStatus {
    const phase = result.violations.length > 0 ? 'Violated' : saysNothing(result) ? 'Inconclusive' : 'Passed';
    const violations = result.violations.slice(0, MAX_VIOLATIONS).map(short);
    const message = messageOf(result, verdict);
    const invariants = verdict.invariants.map(describeInvariant);
    const { checkedUntil: _, ...ended } = this.#ended();
    return { ...ended, phase, message, violations, invariants, checks: describeChecks(verdict) };
  }

  /** The campaign did not come to a result. */
  fail(message: string): ChaosRunStatus {
    return { ...this.#ended(), phase: 'Failed', message: short(message) };
  }

  #ended(): ChaosRunStatus {
    this.#active.clear();
    return { ...this.current, endedAt: formatTime(this.#clock.now()) };
  }

  #say(text: string): void {
    const at = seconds(this.#clock.monotonicMs() - this.#since);
    this.#lines.push(`${at.padStart(8)}  ${short(text)}`);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
  }
}

function messageOf(result: CheckedResult, { problems }: Verdict): string {
  if (result.violations.length > 0) return short(result.violations[0] ?? '');
  if (result.faults === 0) return 'no fault was made';
  if (result.ended === 'by the user') return 'ended early';
  return result.outcome === 'unusable' ? short(`the artefacts are incomplete: ${problems[0]}`) : 'no violation';
}

function describeInvariant(one: InvariantVerdict): NonNullable<ChaosRunStatus['invariants']>[number] {
  const { invariant, title, checked, unit, violationCount, notChecked } = one;
  const state = violationCount > 0 ? 'broken' : checked > 0 ? 'holds' : 'not checked';
  return {
    invariant,
    title,
    state,
    checked,
    unit,
    ...(notChecked === undefined ? {} : { notChecked: short(notChecked) }),
  };
}

const replayOf = (folder: string) => `npm run chaos -- --replay ${folder}`;
const short = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
