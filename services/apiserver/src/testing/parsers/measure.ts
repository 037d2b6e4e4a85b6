import { performance } from 'node:perf_hooks';
import type { ParserCase } from './parser-case.ts';

/** What the largest input may take, in milliseconds of the thread's CPU, at the speed at which REFERENCE takes REFERENCE_MS. */
const MAX_MS = 50;
/** Work whose time tells how fast this machine is now: other processes slow a thread down, and their share changes. */
const REFERENCE = JSON.stringify(
  Array.from({ length: 30_000 }, (_, n) => ({ name: `name-${n}`, text: 'x'.repeat(20), n })),
);
const REFERENCE_MS = 7.3;
/** Times below this are not compared: they are within the noise of the runtime. */
const COMPARED_MS = 25;
/** Of an input four times as long; a quadratic parser takes sixteen times as long. */
const MAX_GROWTH = 9;
const QUARTER = 4;

/** How a case went: undefined when it is fine. */
type Verdict = string | undefined;

/** Errors that a parser documents: anything else is a fault in it, which a server would answer with 500. */
const DOCUMENTED: ReadonlySet<string> = new Set([
  'StatusError',
  'JsonSyntaxError',
  'YamlSyntaxError',
  'QuantityError',
  'SyntaxError',
  'PatchConflict',
]);

/** Measures a case at its largest size, and where that takes long, at a quarter of it. */
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
  // The machine may have been faster at one of the two.
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
/** Of one that seems too slow: beside other processes V8 compiles it late, in threads that wait for their turn. */
const MAX_RUNS = 28;

/**
 * The least time of several runs: it depends least on what else the machine does. Ends early below `enough`. `slowness`, at least 1,
 * is how many times as long as on a quiet machine the reference took between the runs, by the median.
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

/** The thread's CPU time of one run, or the wall clock where that is less: some systems count CPU in coarse ticks. */
function timed(run: () => unknown): number {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  faultOf(run);
  const wall = performance.now() - start;
  const used = process.threadCpuUsage(cpu);
  const ms = (used.user + used.system) / 1000;
  // Less than a few ticks says only that it is less; the wall clock counts what else the machine does.
  return Math.min(wall, Math.max(ms, TICK_MS));
}

/** The coarsest unit in which systems count the CPU time of threads. */
const TICK_MS = 10;
