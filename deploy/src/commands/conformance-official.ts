/** `npm run conformance:official`: Kubernetes' own conformance tests against a cluster of their own. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTime, systemClock } from '@gantry/base';
import { inheritedEnvironment, readCommandConfig } from '../config.ts';
import { formatProduct, formatReadme } from '../conformance/archive.ts';
import { areasToWrite, formatBeyondPage } from '../conformance/beyond-page.ts';
import { removeCluster, startCluster } from '../conformance/cluster.ts';
import type { OnInterrupt } from '../conformance/ginkgo.ts';
import { ensureImages } from '../conformance/images.ts';
import { formatJunit } from '../conformance/junit.ts';
import { formatKeptResults, laterResults, parseKeptResults } from '../conformance/kept-results.ts';
import { type Options, parseOptions, USAGE } from '../conformance/options.ts';
import { formatPage } from '../conformance/page.ts';
import { ensureProgram, type Program } from '../conformance/program.ts';
import { remaining, type RunState } from '../conformance/run-state.ts';
import { runTests } from '../conformance/run-tests.ts';
import { selectTests } from '../conformance/selection.ts';
import { Store } from '../conformance/store.ts';
import { isConformance } from '../conformance/test-list.ts';
import type { DatedResult } from '../conformance/test-result.ts';
import { parseRules } from '../conformance/waits-for.ts';
import { CommandError } from '../machine/command-error.ts';
import { createProgress } from '../machine/progress.ts';
import { createShell, mustRun } from '../machine/shell.ts';
import { runCommand } from './run-command.ts';

const INTERRUPTED = 130;
const SHOW_EVERY_MS = 30_000;
const clock = systemClock;
const environment = inheritedEnvironment();
const { root } = readCommandConfig(environment);
const keptFile = join(root, 'deploy/conformance/beyond-results.jsonl');
const store = new Store(join(root, '.gantry/conformance-official'));
const shell = createShell(root, environment);
const print = (line: string) => process.stdout.write(`${line}\n`);

await runCommand(async () => {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') {
    print(USAGE);
    return 0;
  }
  const progress = createProgress(clock, (text) => process.stdout.write(text));
  const program = await progress.step('official program', (note) => ensureProgram(root, shell, note));
  if (options.mode === 'list') {
    for (const { name } of selectTests(program.tests, options.choice, readResults(program))) print(name);
    return 0;
  }
  if (options.mode === 'page') {
    const results = readResults(program);
    const isSuiteRun = program.tests.some((test) => isConformance(test) && results.has(test.name));
    if (isSuiteRun) print(`  page: ${writePage(program, results, 'docs')}`);
    print(`  page: ${writeBeyondPage(program, results, 'all')}`);
    return 0;
  }
  await progress.step('Docker Engine', async (note) => {
    await mustRun(shell, join(root, 'deploy/bin/ensure-engine'), [], { onLine: note });
  });
  await progress.step('images of the tests', async (note) => {
    const asks = environment['GANTRY_IMAGES'] === 'stand-ins' ? 'none' : 'registry';
    const sources = { root, program: program.folder };
    const { pulled, made } = await ensureImages(shell, clock, { sources, table: program.images, asks }, note);
    note(`${pulled} pulled, ${made} made, the others were there`);
  });
  if (options.mode === 'prepare') return 0;
  const state = startRun(options, program);
  const kubectl = join(
    (await mustRun(shell, join(root, 'deploy/bin/ensure-tools'), [])).trim().split('\n').at(-1) ?? '',
    'kubectl',
  );
  const config = { root, home: store.cluster, homeKind: 'elsewhere', overlays: [] } as const;
  const interrupts = catchInterrupts();
  try {
    const kubeconfig = await progress.step('cluster', (note) =>
      startCluster(config, shell, clock, { agents: options.agents, kubectl }, note),
    );
    print(
      `  ${remaining(state).length} tests, ${options.processes} at once; the output is in ${store.archive}/e2e.log`,
    );
    const run = { store, clock, program: program.folder, kubeconfig, kubectl, processes: options.processes };
    const ended = await runTests(
      { ...run, environment, onInterrupt: interrupts.onInterrupt, onProgress: createDisplay() },
      program.tests,
      state,
    );
    return report(program, ended, interrupts.count());
  } finally {
    if (options.cluster === 'remove')
      await progress.step('removing the cluster', (note) => removeCluster(config, shell, note));
    interrupts[Symbol.dispose]();
  }
});

/** The run to go on with, or a new one of what is selected. */
function startRun(options: Options, program: Program): RunState {
  if (options.mode === 'resume') {
    const stored = store.readRun();
    if (stored === undefined || remaining(stored).length === 0) throw new CommandError('no run was interrupted here');
    return stored;
  }
  const selected = selectTests(program.tests, options.choice, readResults(program));
  if (selected.length === 0) throw new CommandError('no test matches');
  store.clearRun(program.release);
  const startedAt = formatTime(clock.now());
  return { selected: selected.map(({ name }) => name), startedAt, starts: 0, results: new Map() };
}

/** Writes the archive and the page, prints what came of it, and gives the exit code. */
function report(program: Program, run: RunState, interruptions: number): number {
  const { release, tests } = program;
  const selected = new Set(run.selected);
  const product = { name: 'gantry', version: versionOf('package.json'), release };
  writeFileSync(join(store.archive, 'junit_01.xml'), formatJunit(store.cases(), selected));
  writeFileSync(join(store.archive, 'PRODUCT.yaml'), formatProduct(product));
  writeFileSync(join(store.archive, 'README.md'), formatReadme(product));
  store.writeResults(release, store.readResults(release));
  const results = readResults(program);
  const isWhole = tests.filter(isConformance).every(({ name }) => results.has(name));
  const file = writePage(program, results, isWhole ? 'docs' : 'store');
  const beyondFile = writeBeyondPage(program, results, 'without loss');

  const count = (outcome: string) => [...run.results.values()].filter((result) => result.outcome === outcome).length;
  const left = remaining(run).length;
  print(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped, ${left} not run`);
  print(
    `  ${isWhole ? 'page' : 'page of what was run so far'}: ${file}\n  page beyond conformance: ${beyondFile}\n  archive: ${store.archive}`,
  );
  if (interruptions > 0 && left > 0) {
    print('interrupted; go on with: npm run conformance:official -- --resume');
    return INTERRUPTED;
  }
  if (left > 0) {
    throw new CommandError(
      `the program ended without running ${left} tests`,
      `see ${store.archive}/e2e.log; go on with --resume`,
    );
  }
  return count('passed') === selected.size ? 0 : 1;
}

/** Writes the page of these results to the documents, or to what the command keeps. Gives its file. */
function writePage(program: Program, results: ReadonlyMap<string, DatedResult>, place: 'docs' | 'store'): string {
  const { release, tests } = program;
  const rules = parseRules(readFileSync(join(root, 'deploy/conformance/waits-for.json'), 'utf8'));
  const page = formatPage({ release, tests, results, rules });
  if (place === 'store') return store.writePage(page);
  const file = join(root, 'docs/conformance-official.md');
  writeFileSync(file, page);
  return file;
}

/** The last results of all tests: those of this checkout, and those beyond conformance that the repository keeps. */
function readResults({ release }: Program): ReadonlyMap<string, DatedResult> {
  const kept = existsSync(keptFile) ? readFileSync(keptFile, 'utf8') : '';
  return laterResults(parseKeptResults(kept, release), store.readResults(release));
}

/** Writes what the repository keeps beyond conformance: the results, and the sections of the page that follow from them. Gives the page's file. */
function writeBeyondPage(
  program: Program,
  results: ReadonlyMap<string, DatedResult>,
  which: Parameters<typeof areasToWrite>[3],
): string {
  const { release, tests } = program;
  writeFileSync(keptFile, formatKeptResults(release, tests, results));
  const rules = parseRules(readFileSync(join(root, 'deploy/conformance/waits-for.json'), 'utf8'));
  const file = join(root, 'docs/conformance-beyond.md');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  const areas = areasToWrite(tests, results, before, which);
  writeFileSync(file, formatBeyondPage({ release, tests, results, rules, areas, before }));
  return file;
}

function versionOf(file: string): string {
  return (JSON.parse(readFileSync(join(root, file), 'utf8')) as { readonly version: string }).version;
}

/** On a terminal one line that changes; elsewhere a line for each failure, and one every half minute at most. */
function createDisplay(): (line: string, event: { readonly name: string; readonly outcome: string }) => void {
  let shownAt = Number.NEGATIVE_INFINITY;
  return (line, { name, outcome }) => {
    const failure = outcome === 'failed' ? `  ✗ ${name}\n` : '';
    if (process.stdout.isTTY) {
      process.stdout.write(`\r\u001b[K${failure}  ${line}`);
    } else if (failure !== '' || clock.monotonicMs() - shownAt >= SHOW_EVERY_MS) {
      shownAt = clock.monotonicMs();
      print(`${failure}  ${line}`);
    }
  };
}

/** Counts the interruptions from the keyboard, and calls listeners at each and for those before they listened. */
function catchInterrupts(): { readonly onInterrupt: OnInterrupt; count(): number; [Symbol.dispose](): void } {
  const listeners = new Set<(count: number) => void>();
  let count = 0;
  const onSignal = () => {
    count++;
    print(count === 1 ? '\n  interrupted: the tests that run clean up (again: they are killed)' : '\n  killed');
    for (const listener of listeners) listener(count);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    onInterrupt: (listener) => {
      listeners.add(listener);
      if (count > 0) listener(count);
      return () => listeners.delete(listener);
    },
    count: () => count,
    [Symbol.dispose]: () => process.off('SIGINT', onSignal).off('SIGTERM', onSignal),
  };
}
