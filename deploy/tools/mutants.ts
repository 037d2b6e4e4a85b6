/**
 * `npm run mutants [-- OPTION... FILTER...]`: takes out each protecting line of the list in deploy/tools/mutants/areas and
 * expects one of its unit tests to fail. Works on throw-away copies; the checkout stays as it is.
 *   FILTER     only mutants whose area, name or file contains one of the filters
 *   --list     prints the mutants and what they protect, and runs nothing
 *   --resume   skips mutants that a test has killed in an earlier run, while their files are the same
 *   --jobs N   at the same time; 2 when absent
 * Exit code 1: a mutant survived. 2: the list is stale, a test fails without any mutation, or a mutation does not load.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AREAS } from './mutants/areas/areas.ts';
import { EarlierResults } from './mutants/earlier-results.ts';
import { findProblems, type Mutant, mutate } from './mutants/mutant.ts';
import { runTests } from './mutants/run-tests.ts';
import { copyCheckout, type ThrowAwayCopy } from './mutants/throw-away-copy.ts';

const TEST_TIMEOUT_MS = 20_000;
/** The tests run once without mutation, all together, on a machine that may be busy. */
const BASE_TIMEOUT_MS = 60_000;

interface Verdict {
  readonly mutant: Mutant;
  readonly kind: 'killed' | 'survived' | 'broken';
  readonly why: string;
}

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const write = (line: string) => process.stdout.write(`${line}\n`);
const { values, positionals } = parseArgs({
  options: {
    list: { type: 'boolean' },
    resume: { type: 'boolean' },
    help: { type: 'boolean' },
    jobs: { type: 'string', default: '2' },
  },
  allowPositionals: true,
});
process.exitCode = await main();

async function main(): Promise<number> {
  if (values.help === true) {
    const source = readFileSync(fileURLToPath(import.meta.url), 'utf8');
    write(source.slice(4, source.indexOf('\n */')).replaceAll(/^ \* ?/gm, ''));
    return 0;
  }
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1) return fail(`--jobs ${values.jobs}: a whole number from 1 on is expected`);
  const selected = select();
  if (selected.length === 0) return fail(`no mutant's area, name or file contains ${positionals.join(' or ')}`);
  if (values.list === true) {
    for (const { name, file, protects } of selected) write(`${name}\n    ${file}\n    ${protects}`);
    write(`${selected.length} mutants`);
    return 0;
  }
  const problems = findProblems(selected, readIfThere);
  if (problems.length > 0) return fail(problems.join('\n'));

  using copies = new DisposableStack();
  // Ctrl-C removes the copies as well.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      copies.dispose();
      process.exit(130);
    });
  }
  const workers = Array.from({ length: jobs }, () => copies.use(copyCheckout(root)));
  const [first] = workers;
  if (first === undefined || !(await passesUnchanged(first, selected))) return 2;
  return report(await runAll(workers, selected));
}

function select(): readonly Mutant[] {
  return Object.entries(AREAS).flatMap(([area, mutants]) =>
    mutants.filter(({ name, file }) => {
      const texts = [area, name, file];
      return positionals.length === 0 || positionals.some((filter) => texts.some((text) => text.includes(filter)));
    }),
  );
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}

function readIfThere(file: string): string | undefined {
  return existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined;
}

async function passesUnchanged({ folder }: ThrowAwayCopy, mutants: readonly Mutant[]): Promise<boolean> {
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  const result = await runTests({ folder, tests, bail: false, testTimeoutMs: BASE_TIMEOUT_MS });
  switch (result.kind) {
    case 'passed':
      write(`  ✓ ${result.tests} tests of ${tests.length} files pass without a mutation`);
      return true;
    case 'failed':
      fail(`without a mutation, this test fails: ${result.test}: ${result.message}`);
      return false;
    case 'broken':
      fail(`without a mutation, the tests do not run: ${result.why}`);
      return false;
    case 'timed-out':
      fail('without a mutation, the tests do not end');
      return false;
  }
}

async function runAll(workers: readonly ThrowAwayCopy[], mutants: readonly Mutant[]): Promise<readonly Verdict[]> {
  const earlier = new EarlierResults(join(root, '.gantry/mutants.json'), (file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  if (values.resume !== true) earlier.clear();
  const waiting = [...mutants];
  const verdicts: Verdict[] = [];
  const work = async (copy: ThrowAwayCopy): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const known = earlier.find(mutant);
      const startedAt = performance.now();
      const verdict: Verdict =
        known === undefined ? await judge(copy, mutant) : { mutant, kind: 'killed', why: known.test };
      const seconds = (performance.now() - startedAt) / 1000;
      if (known === undefined && verdict.kind === 'killed') earlier.add(mutant, { test: verdict.why, seconds });
      verdicts.push(verdict);
      const time = known === undefined ? `${seconds.toFixed(1)} s` : 'earlier';
      write(`  ${verdict.kind === 'killed' ? '✓' : '✗'} ${verdict.kind} (${time}): ${mutant.name}`);
      write(`      ${verdict.why}`);
    }
  };
  await Promise.all(workers.map(work));
  return verdicts;
}

async function judge(copy: ThrowAwayCopy, mutant: Mutant): Promise<Verdict> {
  const mutated = mutate(readIfThere(mutant.file) ?? '', mutant);
  if (mutated === undefined) return { mutant, kind: 'broken', why: `${mutant.file} has changed meanwhile` };
  copy.replace(mutant.file, mutated);
  const result = await runTests({
    folder: copy.folder,
    tests: mutant.tests,
    bail: true,
    testTimeoutMs: TEST_TIMEOUT_MS,
  });
  copy.restore(mutant.file);
  switch (result.kind) {
    case 'failed':
      return { mutant, kind: 'killed', why: `${result.test}: ${result.message}` };
    case 'timed-out':
      return { mutant, kind: 'killed', why: 'the tests did not end' };
    case 'passed':
      return {
        mutant,
        kind: 'survived',
        why: `${result.tests} tests passed without what protects: ${mutant.protects}`,
      };
    case 'broken':
      return { mutant, kind: 'broken', why: result.why };
  }
}

function report(verdicts: readonly Verdict[]): number {
  const of = (kind: Verdict['kind']) => verdicts.filter((verdict) => verdict.kind === kind);
  for (const { kind, mutant, why } of [...of('survived'), ...of('broken')]) {
    write(
      `\n✗ ${kind}: ${mutant.name}\n  ${mutant.file}: ${mutant.text.trim()}\n  ${mutant.tests.join(' ')}\n  ${why}`,
    );
  }
  const [killed, survived, broken] = [of('killed'), of('survived'), of('broken')].map((list) => list.length);
  write(`\n${verdicts.length} mutants: ${killed} killed, ${survived} survived, ${broken} broken`);
  if (broken !== 0) return 2;
  return survived === 0 ? 0 : 1;
}
