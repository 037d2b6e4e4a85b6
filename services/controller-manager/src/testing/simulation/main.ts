import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { must } from '@gantry/base';
import { optionsOrExit } from '@gantry/base/testing';
import { createLogger } from '@gantry/service';
import { checkSeed, type SeedResult } from './check-seed.ts';
import { createHistory } from './history.ts';
import { controllerNames } from './manager-process.ts';
import { type Options, readOptions } from './options.ts';

/**
 * `npm run simulate -- [--seeds N] [--first SEED] [--jobs N] [--seed SEED [--log]]` runs histories of users on a simulated cluster, with
 * and without faults. It prints each seed that fails with the reason, and with `--seed` also the history. The exit code is 1 when any seed
 * fails, and 2 for wrong options.
 */
const SHOWN = 12;
const PROGRESS_EVERY_MS = 60_000;

if (isMainThread) process.exitCode = await run(optionsOrExit(() => readOptions(process.argv.slice(2))));
else await serve(workerData as readonly number[]);

/** What a worker reports about one seed. */
interface Report extends SeedResult {
  readonly seed: number;
}

function run(options: Options): Promise<number> {
  return 'seed' in options ? runOne(options) : runMany(options);
}

async function runOne({ seed, logs }: Extract<Options, { seed: number }>): Promise<number> {
  for (const { pauseMs, operation } of createHistory(seed, controllerNames())) {
    print(`+${pauseMs} ms ${JSON.stringify(operation, (key, value: unknown) => (key === 'of' ? undefined : value))}`);
  }
  const log = logs === 'shown' ? createLogger({ service: 'simulation', level: 'info' }) : undefined;
  const { violations, crashes } = await checkSeed(seed, log);
  print(`seed ${seed}, ${crashes} crashes: ${violations.length === 0 ? 'well' : `\n  ${violations.join('\n  ')}`}`);
  return violations.length === 0 ? 0 : 1;
}

async function runMany({ first, count, jobs }: Extract<Options, { jobs: number }>): Promise<number> {
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  const failed: number[] = [];
  const since = performance.now();
  let [crashes, done, printedMs] = [0, 0, since];
  const take = (report: Report): void => {
    crashes += report.crashes;
    done++;
    if (performance.now() - printedMs >= PROGRESS_EVERY_MS) {
      printedMs = performance.now();
      const leftMinutes = Math.ceil(((printedMs - since) * (count - done)) / done / 60_000);
      print(`${done} of ${count}, ${failed.length} failed, about ${leftMinutes} min left`);
    }
    if (report.violations.length === 0) return;
    failed.push(report.seed);
    print(`seed ${report.seed}:\n  ${report.violations.slice(0, SHOWN).join('\n  ')}`);
  };
  const shares = Array.from({ length: jobs }, (_, job) => seeds.filter((_seed, index) => index % jobs === job));
  await Promise.all(shares.map((share) => work(share, take)));
  const list = failed.toSorted((one, other) => one - other).join(' ');
  print(`${count} histories, ${crashes} crashes, ${failed.length} failed${failed.length === 0 ? '' : `: ${list}`}`);
  return failed.length === 0 ? 0 : 1;
}

/** Runs seeds in a worker thread. */
function work(seeds: readonly number[], take: (report: Report) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: seeds });
    worker.on('message', take);
    worker.on('error', reject);
    worker.on('exit', () => resolve());
  });
}

async function serve(seeds: readonly number[]): Promise<void> {
  const port = must(parentPort, 'the port to the main thread');
  for (const seed of seeds) port.postMessage({ seed, ...(await checkSeed(seed)) } satisfies Report);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
