import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { z } from 'zod';
import type { Figure } from './figures.ts';

const Run = z.object({
  revision: z.string(),
  at: z.string(),
  processors: z.string(),
  /** Of the last minute at the end. Times and rates of a busy machine say little; CPU says more. */
  load: z.number(),
  figures: z.array(
    z.object({
      work: z.string(),
      what: z.string(),
      value: z.number(),
      unit: z.string(),
      better: z.enum(['more', 'less']),
    }),
  ),
});

/** The figures of one run of the benchmarks, with what they depend on. */
type Run = z.infer<typeof Run>;

/** Describes the figures with this checkout, this machine and now. */
export function describeRun(figures: readonly Figure[]): Run {
  return {
    revision: execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim(),
    at: new Date().toISOString(),
    processors: `${availableParallelism()} of ${cpus()[0]?.model ?? 'an unknown kind'}`,
    load: loadavg()[0] ?? Number.NaN,
    figures: [...figures],
  };
}

export function saveRun(file: string, run: Run): void {
  writeFileSync(file, `${JSON.stringify(run, undefined, 2)}\n`);
}

/** Inverse of `saveRun`. Throws for a file that it has not written. */
export function readRun(file: string): Run {
  return Run.parse(JSON.parse(readFileSync(file, 'utf8')));
}
