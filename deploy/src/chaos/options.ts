import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, parseGoDurationMs, type Random } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';
import type { FaultKind, PlannedFault } from './fault.ts';
import { parsePlan } from './plan-file.ts';
import type { Workload } from './workloads/workload.ts';

/** What a user asks of a campaign. */
export interface CampaignOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly intensity: number;
  readonly kinds: readonly FaultKind[];
  readonly workloads: readonly Workload[];
  /** A schedule that is given instead of made from the seed. */
  readonly plan: readonly PlannedFault[] | undefined;
  readonly output: 'lines' | 'json';
  /** The options as text, for the record. */
  readonly text: Readonly<Record<string, unknown>>;
}

export const USAGE =
  'npm run chaos -- [--duration 5m] [--faults all|LIST] [--intensity 1 to 10] [--workload all|LIST] [--seed N] [--plan FILE] [--json]';
const MAX_SEED = 2 ** 32 - 1;

/** What there is to choose from. */
export interface Choices {
  readonly kinds: readonly FaultKind[];
  /** Kinds that this machine cannot make, and why. */
  readonly impossible: ReadonlyMap<string, string>;
  readonly workloads: readonly Workload[];
}

/** Reads the command's options. `folder` is where the user is; `random` chooses a seed if none is given. Throws CommandError. */
export function readOptions(
  args: readonly string[],
  choices: Choices,
  folder: string,
  random: Random,
): CampaignOptions {
  const values = parse(args);
  const seed =
    values.seed === undefined ? Math.floor(random() * MAX_SEED) : wholeNumber('--seed', values.seed, MAX_SEED);
  const kinds = chooseKinds(values.faults, choices);
  const plan = values.plan === undefined ? undefined : readPlan(resolve(folder, values.plan), choices);
  return {
    seed,
    durationMs: duration(values.duration),
    intensity: wholeNumber('--intensity', values.intensity, 10, 1),
    kinds,
    workloads: chooseNamed('--workload', values.workload, choices.workloads, ({ name }) => name),
    plan,
    output: values.json ? 'json' : 'lines',
    text: { ...values, seed },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        duration: { type: 'string', default: '5m' },
        faults: { type: 'string', default: 'all' },
        intensity: { type: 'string', default: '2' },
        workload: { type: 'string', default: 'all' },
        seed: { type: 'string' },
        plan: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new CommandError(errorMessage(error), USAGE);
  }
}

function chooseKinds(list: string, { kinds, impossible }: Choices): readonly FaultKind[] {
  const names = list.split(',');
  for (const name of names) {
    const why = impossible.get(name);
    if (why !== undefined) throw new CommandError(`--faults: ${name} is not possible here: ${why}`);
  }
  return chooseNamed('--faults', list, kinds, ({ kind }) => kind);
}

/** Those of a list of names with commas; `all` for all. Throws CommandError for a name that does not exist. */
function chooseNamed<T>(option: string, list: string, all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  if (list === 'all') return all;
  const names = list.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !all.some((one) => nameOf(one) === name));
  if (unknown.length > 0) {
    throw new CommandError(
      `${option}: there is no ${unknown.join(', ')}`,
      `there are: all, ${all.map(nameOf).join(', ')}`,
    );
  }
  return all.filter((one) => names.includes(nameOf(one)));
}

function duration(text: string): number {
  const ms = parseGoDurationMs(text);
  if (ms === undefined || ms <= 0) throw new CommandError(`--duration: ${text} is no duration such as 90s, 5m or 1h`);
  return ms;
}

function wholeNumber(option: string, text: string, most: number, least = 0): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new CommandError(`${option}: ${text} is no whole number from ${least} to ${most}`);
}

function readPlan(file: string, choices: Choices): readonly PlannedFault[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`--plan: ${errorMessage(error)}`);
  }
  return parsePlan(text, choices);
}
