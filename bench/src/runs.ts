import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { z } from 'zod';
import type { Figure } from './figures.ts';

const SavedFigure = z
  .object({
    work: z.string(),
    what: z.string(),
    /** JSON has null for what is no number. */
    value: z.number().nullable(),
    unit: z.string(),
    better: z.enum(['more', 'less']),
  })
  .transform(({ value, ...figure }, context) => {
    if (value !== null) return { ...figure, value };
    context.addIssue(`${nameOf(figure)} is no number`);
    return z.NEVER;
  });

const Run = z.object({
  revision: z.string(),
  at: z.string(),
  processors: z.string(),
  /** Of the last minute at the end. Times and rates of a busy machine say little; CPU says more. */
  load: z.number(),
  figures: z.array(SavedFigure),
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

/** Saves the figures that are numbers, as JSON has no others. Throws afterwards if there were others, and names them. */
export function saveRun(file: string, run: Run): void {
  const numbers = run.figures.filter(({ value }) => Number.isFinite(value));
  const others = run.figures.filter(({ value }) => !Number.isFinite(value));
  writeFileSync(file, `${JSON.stringify({ ...run, figures: numbers }, undefined, 2)}\n`);
  if (others.length > 0)
    throw new Error(`figures that are no numbers were not saved: ${others.map(nameOf).join('; ')}`);
}

/** Inverse of `saveRun`. Throws for a file that it has not written. */
export function readRun(file: string): Run {
  const { data, error } = Run.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (data === undefined) throw new Error(z.prettifyError(error));
  return data;
}

function nameOf({ work, what }: Pick<Figure, 'work' | 'what'>): string {
  return `${what} of ${JSON.stringify(work)}`;
}
