import type { CheckedResult } from '../campaign.ts';
import type { PlannedFault } from '../fault.ts';
import { Tally } from '../workloads/tally.ts';

/** A fault of a schedule: one link is cut for five seconds. */
export const exampleFault: PlannedFault = {
  id: 'f1',
  kind: 'cut',
  target: 'agent/1',
  peer: 'apiserver',
  round: 0,
  atMs: 0,
  durationMs: 5_000,
  choice: 0,
};

/** The result of a campaign of one fault without violations. */
export const exampleResult: CheckedResult = {
  plan: [],
  seed: 7,
  folder: '/run',
  faults: 1,
  kinds: 1,
  acknowledged: 5,
  unknown: 0,
  longestGapMs: 1_500,
  rounds: [{ faults: 'cut agent/1 apiserver', longestGapMs: 1_500 }],
  services: new Tally().services,
  violations: [],
  ended: 'by itself',
  outcome: 'ok',
};
