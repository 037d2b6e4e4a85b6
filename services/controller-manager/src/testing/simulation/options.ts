import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '@gantry/base';

/** What a user asks of the simulation: many seeds, or one with its history. */
export type Options =
  | { readonly seed: number; readonly logs: 'shown' | 'hidden' }
  | { readonly first: number; readonly count: number; readonly jobs: number };

const MAX_SEED = 2 ** 32 - 1;
/** About half a year on two cores. */
const MAX_SEEDS = 10_000_000;
/** Each is a thread with all controllers. */
const MAX_JOBS = 256;

/** Reads the options of `npm run simulate`. Throws an OptionError, or an error of `parseArgs`. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1000' },
      first: { type: 'string', default: '1' },
      jobs: { type: 'string', default: String(Math.min(availableParallelism(), MAX_JOBS)) },
      seed: { type: 'string' },
      log: { type: 'boolean', default: false },
    },
  });
  const count = wholeNumber('--seeds', values.seeds, 1, MAX_SEEDS);
  const first = wholeNumber('--first', values.first, 0, MAX_SEED - count + 1);
  const jobs = wholeNumber('--jobs', values.jobs, 1, MAX_JOBS);
  if (values.seed === undefined) return { first, count, jobs };
  return { seed: wholeNumber('--seed', values.seed, 0, MAX_SEED), logs: values.log ? 'shown' : 'hidden' };
}
