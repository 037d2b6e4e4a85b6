import type { Clock } from '@gantry/base';
import type { CampaignEvents, CampaignResult } from './campaign.ts';
import type { PlannedFault } from './fault.ts';
import type { Tally } from './workloads/tally.ts';

const STATUS_EVERY_MS = 10_000;

/** Shows a campaign. Dispose of it at its end. */
export interface CampaignView extends CampaignEvents, Disposable {
  onResult(result: CampaignResult): void;
}

/** Shows a campaign as lines of text, each with the seconds since its start. */
export function showLines(clock: Clock, write: (text: string) => void): CampaignView {
  const since = clock.monotonicMs();
  let cancel = () => {};
  const say = (text: string) => write(`${seconds(clock.monotonicMs() - since).padStart(7)}  ${text}\n`);
  return {
    onPlan: (faults, folder) => {
      const kinds = new Set(faults.map(({ kind }) => kind)).size;
      say(`${faults.length} faults of ${kinds} kinds are planned; the run is recorded in ${folder}`);
    },
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
    onPhase: (text) => say(text),
    onStart: (fault, detail) => say(`${fault.id} ${nameOf(fault)} starts: ${detail}`),
    onHeal: (fault) => say(`${fault.id} ${nameOf(fault)} ends`),
    onSkip: (fault, why) => say(`${fault.id} ${nameOf(fault)} is left out: ${why}`),
    onHealthy: (round, afterMs) => say(`round ${round + 1} is over; healthy after ${seconds(afterMs)}`),
    onResult: (result) => {
      for (const violation of result.violations) say(`VIOLATION: ${violation}`);
      say(describeResult(result));
    },
    [Symbol.dispose]: () => cancel(),
  };
}

const nameOf = ({ kind, target, peer }: PlannedFault) =>
  [kind, target, peer].filter((part) => part !== undefined).join(' ');
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function describeTally({ acknowledged, refused, unknown, longestGapMs }: Tally): string {
  const requests = `${acknowledged} requests acknowledged, ${refused} refused, ${unknown} unknown`;
  return `${requests}; longest gap ${seconds(longestGapMs)}`;
}

function describeResult(result: CampaignResult): string {
  const { seed, faults, kinds, acknowledged, longestGapMs, violations, ended } = result;
  const verdict = violations.length === 0 ? 'no violation' : `${violations.length} violations`;
  const early = ended === 'by the user' ? ', ended early' : '';
  const load = `${acknowledged} acknowledged requests, longest gap ${seconds(longestGapMs)}`;
  return `${verdict}: ${faults} faults of ${kinds} kinds, ${load}${early} (seed ${seed})`;
}
