import { resolve } from 'node:path';
import type { Random } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';
import type { Checked } from './checked-run.ts';
import type { FaultKind } from './fault.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { requirePrograms } from './kubernetes.ts';
import { type CampaignOptions, type Choices, readOptions } from './options.ts';
import { describeChecks, seconds } from './show-lines.ts';
import { WORKLOADS } from './workloads/index.ts';

/** Kubernetes' control plane beside the cluster has one etcd and one API server, and its API servers elect no leader. */
const KINDS: readonly string[] = ['kill', 'terminate', 'pause', 'etcd-kill', 'etcd-terminate', 'etcd-pause'];
const TARGETS: readonly string[] = ['scheduler/leader', 'controller-manager/leader', 'apiserver/1', 'etcd/1'];

const atComparedTargets = (kind: FaultKind): FaultKind => ({
  ...kind,
  targets: kind.targets.filter((target) => TARGETS.includes(target)),
});

/** What a campaign at both can consist of: the faults of what both have, and the workloads that need no pods. */
export const COMPARED: Choices = {
  kinds: FAULT_KINDS.filter(({ kind }) => KINDS.includes(kind)).map(atComparedTargets),
  impossible: new Map(),
  workloads: WORKLOADS.filter(({ pods }) => pods !== 'needed'),
};

/** What a user asks of a comparison. */
export interface Comparison {
  /** The folder with the programs of Kubernetes. */
  readonly programs: string;
  readonly options: CampaignOptions;
}

const USAGE =
  'npm run chaos -- compare FOLDER [options of a campaign]; FOLDER has the programs of a release of Kubernetes';

/**
 * Reads the arguments of the command; `choices` is what this machine can do of `COMPARED`. `folder` is where the user is; `random` chooses a
 * seed if none is given. Throws CommandError, also if the programs are not there: the campaign at them is the second one, minutes later.
 */
export function readComparison(args: readonly string[], choices: Choices, folder: string, random: Random): Comparison {
  const [given, ...campaign] = args;
  if (given === undefined || given === '' || given.startsWith('-'))
    throw new CommandError('the folder of Kubernetes is missing', USAGE);
  const options = readOptions(campaign, choices, folder, random);
  if (options.afterViolations === 'shrink' || options.picture !== undefined)
    throw new CommandError('--shrink and --picture are options of one campaign, not of a comparison', USAGE);
  const programs = resolve(folder, given);
  requirePrograms(programs);
  return { programs, options };
}

/** The results of the same campaign at both, as a Markdown table, and below it the violations. */
export function formatComparison(ours: Checked, theirs: Checked): string {
  const both = [ours, theirs];
  const row = (what: string, cell: (one: Checked) => string) => `| ${[what, ...both.map(cell)].join(' | ')} |`;
  const faults = [...new Set(both.flatMap(({ result }) => result.rounds.map((round) => round.faults)))].toSorted();
  const violations = both.flatMap(({ result }, index) =>
    result.violations.map((what) => `${index === 0 ? 'Gantry' : 'Kubernetes'}: VIOLATION: ${what}`),
  );
  return [
    '| | Gantry | Kubernetes |',
    '| --- | --- | --- |',
    row('faults', ({ result }) => String(result.faults)),
    row('requests acknowledged', ({ result }) => String(result.acknowledged)),
    row('requests without a response', ({ result }) => String(result.unknown)),
    row('longest time without an acknowledgement', ({ result }) => seconds(result.longestGapMs)),
    ...faults.map((name) => row(`the same, of \`${name}\``, (one) => gapsOf(one, name))),
    row('p99 of requests at a rate, without and with faults', p99s),
    row('invariants', ({ verdict }) => describeChecks(verdict)),
    row('violations', ({ result }) => String(result.violations.length)),
    ...violations,
  ].join('\n');
}

/** `4.1 s (3 times)`: the longest of all rounds with these faults. */
function gapsOf({ result }: Checked, faults: string): string {
  const gaps = result.rounds.filter((round) => round.faults === faults).map(({ longestGapMs }) => longestGapMs);
  if (gaps.length === 0) return 'not made';
  return `${seconds(Math.max(...gaps))} (${gaps.length === 1 ? 'once' : `${gaps.length} times`})`;
}

function p99s({ verdict }: Checked): string {
  const of = (during: 'calm' | 'faults') => verdict.loads.find((load) => load.during === during)?.p99Ms;
  const [calm, faulty] = [of('calm'), of('faults')].map((ms) => (ms === undefined ? '-' : `${Math.round(ms)} ms`));
  return `${calm}, ${faulty}`;
}
