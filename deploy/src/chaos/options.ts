import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, isUsageError, parseGoDurationMs, type Random, seededRandom, wholeNumber } from '@gantry/base';
import { z } from 'zod';
import { CommandError } from '../machine/command-error.ts';
import type { FaultKind, PlannedFault } from './fault.ts';
import { engineRestart } from './faults/engine-restart.ts';
import { RESTORE_FAULTS } from './faults/snapshot-restore.ts';
import { planEach } from './plan.ts';
import { parsePlan } from './plan-file.ts';
import type { Workload } from './workloads/workload.ts';

/** What a user asks of a campaign. */
export interface CampaignOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly intensity: number;
  /** Without faults and without changes by the workloads at the end. Some invariants are about what is so after a minute. */
  readonly calmMs: number;
  /** How long a workload waits in the end until the cluster is right, and, up to four minutes, the next round until it is healthy. */
  readonly settleMs: number;
  /** How long the workloads run without faults before, whose end state is then compared; 0: not at all. */
  readonly undisturbedMs: number;
  /** How long the workloads run before the first fault. */
  readonly beforeMs: number;
  /** Requests a second of the workload `requests`. */
  readonly rate: number;
  readonly kinds: readonly FaultKind[];
  readonly workloads: readonly Workload[];
  /** A schedule that is given instead of made from the seed. It runs to its end. */
  readonly plan: readonly PlannedFault[] | undefined;
  /** `shrink`: a schedule with violations is shortened to the smallest one that still has some. */
  readonly afterViolations: 'end' | 'shrink';
  readonly output: 'lines' | 'json';
  /** The file for a picture of the live view around the first fault; undefined for none. */
  readonly picture: string | undefined;
  /** The options as text, for the record. */
  readonly text: Readonly<Record<string, unknown>>;
}

export const USAGE =
  'npm run chaos -- [--duration 5m] [--settle 10m] [--calm 75s] [--undisturbed none|20s] [--before 3s] [--takeover 15s] [--engine-restart COMMAND] [--lose-writes] [--rate 10] [--faults all|LIST] [--intensity 1 to 10] [--workload all|none|LIST] [--seed N] [--plan FILE | --replay RUN | --each] [--shrink] [--picture FILE] [--json]';
const MAX_SEED = 2 ** 32 - 1;
/** More is more than one process sends. */
const MAX_RATE = 2_000;
const DEFAULT_RATE = 10;

/** What there is to choose from. */
export interface Choices {
  readonly kinds: readonly FaultKind[];
  /** Kinds that this machine cannot make and workloads that it cannot run, and why. */
  readonly impossible: ReadonlyMap<string, string>;
  readonly workloads: readonly Workload[];
}

/** Reads the command's options. `folder` is where the user is; `random` chooses a seed if none is given. Throws CommandError. */
export function readOptions(...given: Parameters<typeof read>): CampaignOptions {
  try {
    return read(...given);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    throw new CommandError(error.message, USAGE);
  }
}

function read(args: readonly string[], offered: Choices, folder: string, random: Random): CampaignOptions {
  const given = parse(args);
  const choices = withConsent(offered, given);
  const values = given.replay === undefined ? given : replayed(given, resolve(folder, given.replay));
  const seed =
    values.seed === undefined ? Math.floor(random() * MAX_SEED) : wholeNumber('--seed', values.seed, 0, MAX_SEED);
  const kinds = chooseKinds(values.faults, choices);
  if (values.each && values.plan !== undefined) {
    throw new CommandError('--each makes a schedule itself: give neither --plan nor --replay', USAGE);
  }
  const fromFile =
    values.plan === undefined ? undefined : parsePlan(readText('--plan', resolve(folder, values.plan)), choices);
  const plan = values.each ? planEach(kinds, seededRandom(seed)) : fromFile;
  const workloads = values.workload === 'none' ? [] : chooseWorkloads(values.workload, choices);
  requireRestorable(plan ?? kinds, workloads, choices);
  return {
    seed,
    durationMs: duration('--duration', values.duration),
    settleMs: duration('--settle', values.settle),
    calmMs: duration('--calm', values.calm),
    undisturbedMs: values.undisturbed === 'none' ? 0 : duration('--undisturbed', values.undisturbed),
    beforeMs: duration('--before', values.before),
    rate: wholeNumber('--rate', values.rate ?? String(DEFAULT_RATE), 1, MAX_RATE),
    intensity: wholeNumber('--intensity', values.intensity, 1, 10),
    kinds,
    workloads,
    plan,
    afterViolations: values.shrink ? 'shrink' : 'end',
    output: values.json ? 'json' : 'lines',
    picture: values.picture === undefined ? undefined : resolve(folder, values.picture),
    text: { ...values, seed, ...boundsOf(values) },
  };
}

/** With the faults that the user allows: the restart of the engine by a command, and the restore of a snapshot. */
function withConsent(choices: Choices, { 'engine-restart': command, 'lose-writes': losesWrites }: Values): Choices {
  if (command?.trim() === '') throw new CommandError('--engine-restart: the command is empty', USAGE);
  const allowed = {
    '--engine-restart': command === undefined ? [] : [engineRestart(command)],
    '--lose-writes': losesWrites ? RESTORE_FAULTS : [],
  };
  for (const [option, kinds] of Object.entries(allowed)) {
    if (kinds.some(({ kind }) => !choices.impossible.has(kind)))
      throw new CommandError(`${option}: there is no such fault here`);
  }
  const added = Object.values(allowed).flat();
  const impossible = new Map([...choices.impossible].filter(([kind]) => added.every((one) => one.kind !== kind)));
  return { ...choices, kinds: [...choices.kinds, ...added], impossible };
}

/** Workloads that do not know which of their writes a restore loses would take that for a violation. */
function requireRestorable(
  kinds: readonly Pick<FaultKind, 'kind'>[],
  workloads: readonly Workload[],
  choices: Choices,
): void {
  if (!kinds.some(({ kind }) => RESTORE_FAULTS.some((one) => one.kind === kind))) return;
  const names = (all: readonly Workload[]) => all.map(({ name }) => name).join(',');
  const others = workloads.filter(({ restores }) => restores !== 'known');
  if (others.length === 0) return;
  throw new CommandError(
    `--workload: ${names(others)} cannot tell which of their writes the restore of a snapshot loses`,
    `--workload ${names(choices.workloads.filter(({ restores }) => restores === 'known'))}`,
  );
}

/** What the checker reads of a run whose bounds are not its own. */
function boundsOf({ takeover }: Values) {
  return takeover === undefined ? {} : { bounds: { takeoverMs: duration('--takeover', takeover) } };
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      duration: { type: 'string', default: '5m' },
      settle: { type: 'string', default: '10m' },
      calm: { type: 'string', default: '75s' },
      undisturbed: { type: 'string', default: '20s' },
      before: { type: 'string', default: '3s' },
      takeover: { type: 'string' },
      'engine-restart': { type: 'string' },
      'lose-writes': { type: 'boolean', default: false },
      rate: { type: 'string' },
      faults: { type: 'string', default: 'all' },
      intensity: { type: 'string', default: '2' },
      workload: { type: 'string', default: 'all' },
      seed: { type: 'string' },
      plan: { type: 'string' },
      each: { type: 'boolean', default: false },
      replay: { type: 'string' },
      shrink: { type: 'boolean', default: false },
      picture: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  }).values;
}

type Values = ReturnType<typeof parse>;

/** What is read of `run.json`. */
const REPLAYED = z.object({
  seed: z.number().int().min(0).max(MAX_SEED),
  options: z.object({ workload: z.string(), rate: z.string().optional() }),
});

/** The options of an earlier run, with its schedule. Throws CommandError if there is no run in the folder. */
function replayed(given: Values, run: string): Values {
  if (given.plan !== undefined || given.seed !== undefined) {
    throw new CommandError('--replay takes the seed and the plan of the run: give neither --seed nor --plan', USAGE);
  }
  const parsed = REPLAYED.safeParse(parseJson(readText('--replay', join(run, 'run.json'))));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(
      `--replay: ${join(run, 'run.json')}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}`,
    );
  }
  const { seed, options } = parsed.data;
  const rate = given.rate ?? options.rate;
  return { ...given, seed: String(seed), plan: join(run, 'plan.json'), workload: options.workload, rate };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readText(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${option}: ${errorMessage(error)}`);
  }
}

function chooseKinds(list: string, { kinds, impossible }: Choices): readonly FaultKind[] {
  requirePossible('--faults', list, impossible);
  return chooseNamed('--faults', list, kinds, ({ kind }) => kind);
}

function chooseWorkloads(list: string, { workloads, impossible }: Choices): readonly Workload[] {
  requirePossible('--workload', list, impossible);
  return chooseNamed('--workload', list, workloads, ({ name }) => name);
}

function requirePossible(option: string, list: string, impossible: Choices['impossible']): void {
  for (const name of list.split(',')) {
    const why = impossible.get(name.trim());
    if (why !== undefined) throw new CommandError(`${option}: ${name.trim()} is not possible here: ${why}`);
  }
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

function duration(option: string, text: string): number {
  const ms = parseGoDurationMs(text);
  if (ms === undefined || ms <= 0) throw new CommandError(`${option}: ${text} is no duration such as 90s, 5m or 1h`);
  return ms;
}
