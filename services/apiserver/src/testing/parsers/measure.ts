import { performance } from 'node:perf_hooks';
import type { ParserCase } from './parser-case.ts';

/** Maximum CPU time of the thread for the largest input, in milliseconds, at the speed at which REFERENCE takes REFERENCE_MS. */
const MAX_MS = 50;
/** Work that measures the current speed of this machine, which depends on other processes. */
const REFERENCE = JSON.stringify(
  Array.from({ length: 30_000 }, (_, n) => ({ name: `name-${n}`, text: 'x'.repeat(20), n })),
);
const REFERENCE_MS = 7.3;
/** Times below this are not compared, since they are noise. */
const COMPARED_MS = 25;
/** Maximum growth of the time when the input is four times as long. For a quadratic parser it would be 16. */
const MAX_GROWTH = 9;
const QUARTER = 4;

/** The problem of a case; undefined if there is none. */
type Verdict = string | undefined;

/** Errors that parsers document. Any other error is a bug, which a server would report as 500. */
const DOCUMENTED: ReadonlySet<string> = new Set([
  'StatusError',
  'JsonSyntaxError',
  'YamlSyntaxError',
  'QuantityError',
  'SyntaxError',
  'PatchConflict',
]);

/** Measures a case at its largest size. If that is slow, measures it also at a quarter of that size. */
export function measure({ largest, prepare }: ParserCase): Verdict {
  const run = prepare(largest);
  const fault = faultOf(run);
  if (fault !== undefined) return fault;
  const { ms, slowness } = cheapest(run, COMPARED_MS);
  if (ms <= COMPARED_MS) return undefined;
  if (ms > MAX_MS * slowness) {
    return `takes ${ms.toFixed(1)} ms at its largest size, ${largest}, on a machine that is ${slowness.toFixed(1)} times as slow as the reference`;
  }
  const quarter = cheapest(prepare(Math.floor(largest / QUARTER)), 0);
  // The speed of the machine may have changed between the two.
  const [before, after] = [quarter.ms / quarter.slowness, ms / slowness];
  const growth = after / Math.max(before, 0.1);
  return after <= COMPARED_MS || growth <= MAX_GROWTH
    ? undefined
    : `takes ${growth.toFixed(1)} times as long for ${QUARTER} times the input: ${before.toFixed(1)} ms, then ${after.toFixed(1)} ms`;
}

function faultOf(run: () => unknown): Verdict {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof Error && DOCUMENTED.has(error.name)) return undefined;
    return `throws ${String(error).slice(0, 200)}`;
  }
}

const RUNS = 7;
/** Maximum runs of a case that seems too slow. On a busy machine V8 compiles it late, since its compiler threads must wait. */
const MAX_RUNS = 28;

/**
 * The minimum time of several runs, which depends least on other processes. Stops early below `enough`. `slowness` is the median time of
 * the reference between the runs, relative to that on a quiet machine; at least 1.
 */
function cheapest(run: () => unknown, enough: number): { readonly ms: number; readonly slowness: number } {
  let ms = Number.POSITIVE_INFINITY;
  const references: number[] = [];
  let slowness = 1;
  for (let round = 0; round < (ms > MAX_MS * slowness ? MAX_RUNS : RUNS) && ms > enough; round++) {
    ms = Math.min(ms, timed(run));
    if (ms <= enough) break;
    references.push(timed(() => JSON.parse(REFERENCE)));
    const median = references.toSorted((one, other) => one - other)[Math.floor(references.length / 2)] ?? 0;
    slowness = Math.max(1, median / REFERENCE_MS);
  }
  return { ms, slowness };
}

/** The CPU time of one run, or the wall clock time if that is less: some systems count CPU time in coarse ticks. */
function timed(run: () => unknown): number {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  faultOf(run);
  const wall = performance.now() - start;
  const used = process.threadCpuUsage(cpu);
  const ms = (used.user + used.system) / 1000;
  // A CPU time of few ticks is not exact. The wall clock time includes other processes.
  return Math.min(wall, Math.max(ms, TICK_MS));
}

/** The coarsest tick in which systems count the CPU time of threads. */
const TICK_MS = 10;
