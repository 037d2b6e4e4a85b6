import type { Random } from '@gantry/base';
import { CommandError } from '../../machine/command-error.ts';
import type { PlannedFault } from '../fault.ts';
import { type CampaignOptions, type Choices, readOptions } from '../options.ts';
import { parsePlan } from '../plan-file.ts';
import type { ChaosRunSpec } from './kinds.ts';

const HOUR_MS = 3_600_000;

/**
 * The options of the campaign that an object asks for; `random` chooses a seed if it has none. Throws CommandError that names the field
 * of the object.
 */
export function optionsOf(spec: ChaosRunSpec, choices: Choices, random: Random): CampaignOptions {
  const { seed, faults = ['all'], workloads = ['all'], duration, intensity, settle, calm, undisturbed, plan } = spec;
  try {
    const options = readOptions(
      [
        `--faults=${listOf('faults', faults)}`,
        `--workload=${workloads.length === 0 ? 'none' : listOf('workload', workloads)}`,
        `--duration=${duration}`,
        `--intensity=${intensity}`,
        `--settle=${settle}`,
        `--calm=${calm}`,
        `--undisturbed=${undisturbed}`,
        ...(seed === undefined ? [] : [`--seed=${seed}`]),
      ],
      choices,
      '/',
      random,
    );
    for (const name of ['duration', 'settle', 'calm', 'undisturbed'] as const) {
      if (options[`${name}Ms`] > HOUR_MS) throw new CommandError(`--${name}: at most 1h`);
    }
    if (plan === undefined) return options;
    const planned = parsePlan(textOf(plan), choices);
    if (lengthOf(planned) > HOUR_MS) throw new CommandError('--plan: the rounds take more than 1h');
    return { ...options, plan: planned };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(fieldsOf(error.message), error.fix);
  }
}

/** How long the rounds of a schedule take, one after the other. */
function lengthOf(plan: readonly PlannedFault[]): number {
  const ends = new Map<number, number>();
  for (const { round, atMs, durationMs } of plan) ends.set(round, Math.max(ends.get(round) ?? 0, atMs + durationMs));
  return [...ends.values()].reduce((sum, ms) => sum + ms, 0);
}

/** An option's list is one text with commas. */
function listOf(option: string, names: readonly string[]): string {
  const [wrong] = names.filter((name) => name.includes(','));
  if (wrong !== undefined) throw new CommandError(`--${option}: there is no ${wrong}`);
  if (names.length === 0) throw new CommandError(`--${option}: is empty`);
  return names.join(',');
}

function textOf(plan: NonNullable<ChaosRunSpec['plan']>): string {
  return JSON.stringify({ format: 1, faults: plan.map((fault, index) => ({ id: `f${index + 1}`, ...fault })) });
}

/** Messages of the command name options. */
function fieldsOf(message: string): string {
  return message
    .replace(/^--workload\b/, 'spec.workloads')
    .replace(/^--plan: faults\.(\d+)/, 'spec.plan[$1]')
    .replace(/^--(\w+)/, 'spec.$1');
}
