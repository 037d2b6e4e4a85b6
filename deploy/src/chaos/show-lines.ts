import type { Clock } from '@gantry/base';
import type { Verdict, VerdictSoFar } from '@gantry/chaos-checker';
import type { CampaignEvents, CampaignResult } from './campaign.ts';
import { type Election, Leaders } from './elections.ts';
import { faultName } from './fault.ts';
import type { Tally } from './workloads/tally.ts';

const STATUS_EVERY_MS = 10_000;

/** Shows a campaign. Dispose of it at its end. */
export interface CampaignView extends CampaignEvents, Disposable {
  onResult(result: CampaignResult): void;
}

/** Shows a campaign as lines of text, each with the seconds since its start. */
export function showLines(clock: Clock, write: (text: string) => void): CampaignView {
  const since = clock.monotonicMs();
  const leaders = new Leaders();
  let cancel = () => {};
  const say = (text: string) => write(`${seconds(clock.monotonicMs() - since).padStart(8)}  ${text}\n`);
  return {
    ...describeEvents(say, leaders),
    onWorking: (tally) => {
      let shown = '';
      const status = () => {
        const text = describeTally(tally);
        if (text !== shown) say(text);
        shown = text;
        cancel = clock.setTimer(STATUS_EVERY_MS, status);
      };
      status();
    },
    onResult: (result) => {
      for (const line of describeResult(result)) say(line);
    },
    [Symbol.dispose]: () => cancel(),
  };
}

/** Says each event in a line. */
export function describeEvents(say: (text: string) => void, leaders: Leaders): Omit<CampaignEvents, 'onWorking'> {
  return {
    onPlan: (faults, folder) => {
      const kinds = new Set(faults.map(({ kind }) => kind)).size;
      say(`${faults.length} faults of ${kinds} kinds are planned; the run is recorded in ${folder}`);
    },
    onPhase: (text) => say(text),
    onStart: (fault, detail) => say(`${fault.id} ${faultName(fault)} starts: ${detail}`),
    onHeal: (fault) => say(`${fault.id} ${faultName(fault)} ends`),
    onSkip: (fault, why) => say(`${fault.id} ${faultName(fault)} is left out: ${why}`),
    onHealthy: (round, afterMs) => say(`round ${round + 1} is over; healthy after ${seconds(afterMs)}`),
    onElection: (election) => {
      if (leaders.add(election)) say(describeElection(election));
    },
    onVerdict: sayNewViolations(say),
  };
}

/** As many violations are said while the run goes on. At its end all are. */
const SAID_VIOLATIONS = 20;

function sayNewViolations(say: (text: string) => void): CampaignEvents['onVerdict'] {
  const said = new Set<string>();
  return (verdict) => {
    for (const violation of violationsOf(verdict)) {
      if (said.has(violation) || said.size >= SAID_VIOLATIONS) continue;
      said.add(violation);
      say(`VIOLATION so far: ${violation}`);
    }
  };
}

/** The violations that the checker found, with their invariants. */
export function violationsOf({ invariants }: Pick<Verdict, 'invariants'>): readonly string[] {
  return invariants.flatMap(({ invariant, violations }) => violations.map(({ what }) => `${invariant}: ${what}`));
}

/** The numbers of invariants by what the checker says of them. */
export function describeChecks({ invariants }: Pick<VerdictSoFar, 'invariants'>): string {
  const broken = invariants.filter(({ violationCount }) => violationCount > 0).length;
  const open = invariants.filter(({ checked, violationCount }) => checked === 0 && violationCount === 0).length;
  return `${invariants.length - broken - open} hold, ${broken} broken, ${open} not checked`;
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export function describeElection({ component, epoch, holder }: Election): string {
  return holder === '' ? `${component}: no leader` : `${component}: ${holder.slice(0, 12)} leads, epoch ${epoch}`;
}

export function describeTally({ acknowledged, refused, unknown, longestGapMs, services }: Tally): string {
  const requests = `${acknowledged} requests acknowledged, ${refused} refused, ${unknown} unknown`;
  return [`${requests}; longest gap ${seconds(longestGapMs)}`, ...describeServices(services)].join('; ');
}

function describeServices({ served, failures, longestGapMs }: Tally['services']): readonly string[] {
  if (served === 0) return [];
  const failed = Object.entries(failures).map(([why, count]) => `${count} ${why}`);
  return [`Services: ${[`${served} responses`, ...failed].join(', ')}, longest gap ${seconds(longestGapMs)}`];
}

/** The violations, and the verdict in the last line. */
export function describeResult(result: CampaignResult): readonly string[] {
  const { seed, faults, kinds, acknowledged, longestGapMs, services, violations, ended } = result;
  const verdict = violations.length === 0 ? 'no violation' : `violations: ${violations.length}`;
  const early = ended === 'by the user' ? ', ended early' : '';
  const load = `${acknowledged} acknowledged requests, longest gap ${seconds(longestGapMs)}`;
  return [
    ...violations.map((violation) => `VIOLATION: ${violation}`),
    ...describeServices(services),
    `${verdict}; ${faults} faults of ${kinds} kinds, ${load}${early} (seed ${seed})`,
  ];
}
