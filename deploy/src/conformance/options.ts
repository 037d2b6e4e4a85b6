import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';
import type { Choice } from './selection.ts';

export interface Options {
  readonly choice: Choice;
  /** `fresh` forgets an interrupted run; `resume` goes on with it; `list`, `prepare` and `page` run nothing. */
  readonly mode: 'fresh' | 'resume' | 'list' | 'prepare' | 'page';
  readonly processes: number;
  readonly agents: number;
  readonly cluster: 'remove' | 'keep';
}

const MOST_PROCESSES = 1_000;
/** More containers than one machine runs. */
const MOST_AGENTS = 1_000;

export const USAGE = `npm run conformance:official [-- OPTION...]: runs Kubernetes' own conformance tests
  --focus REGEX    only tests whose name matches
  --area SIG       only tests of an area, such as sig-network
  --failed         only tests that failed when they last ran
  --not-run        only tests that have no result yet
  --all            what is claimed beyond conformance, too
  --beyond         only what is claimed beyond conformance
  --resume         go on with the run that was interrupted
  --procs N        how many tests at once (default: two per CPU, at least four)
  --agents N       how many nodes (default: 5)
  --keep           leave the cluster running
  --list           print the tests that would run, and end
  --prepare        build the program and the images, and end
  --page           write the documents' pages from the last results, though tests were not run, and end`;

export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      focus: { type: 'string' },
      area: { type: 'string' },
      failed: { type: 'boolean', default: false },
      'not-run': { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      beyond: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      procs: { type: 'string', default: String(Math.max(4, 2 * availableParallelism())) },
      agents: { type: 'string', default: '5' },
      keep: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      prepare: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.failed && values['not-run']) throw new CommandError('--failed and --not-run exclude each other');
  if (values.all && values.beyond) throw new CommandError('--all and --beyond exclude each other');
  const choice: Choice = {
    scope: values.all ? 'all' : values.beyond ? 'beyond' : 'conformance',
    ...(values.focus === undefined ? {} : { focus: pattern(values.focus) }),
    ...(values.area === undefined ? {} : { area: values.area }),
    ...(values.failed ? { last: 'failed' as const } : {}),
    ...(values['not-run'] ? { last: 'none' as const } : {}),
  };
  const modes = (['resume', 'list', 'prepare', 'page'] as const).filter((mode) => values[mode]);
  if (modes.length > 1) throw new CommandError(`--${modes.join(' and --')} exclude each other`);
  const [mode = 'fresh'] = modes;
  const isSelected = choice.scope !== 'conformance' || 'last' in choice || 'focus' in choice || 'area' in choice;
  if (mode === 'resume' && isSelected) {
    throw new CommandError('--resume goes on with what the interrupted run had selected', 'leave the selection out');
  }
  const cluster = values.keep ? 'keep' : 'remove';
  const processes = wholeNumber('--procs', values.procs, 1, MOST_PROCESSES);
  const agents = wholeNumber('--agents', values.agents, 1, MOST_AGENTS);
  return { choice, mode, processes, agents, cluster };
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new CommandError(`--focus ${text} is no regular expression`);
  }
}
