/**
 * `npm run check`: everything that can be checked without a daemon, two checks at a time, all failures reported at the
 * end. Names of checks run these alone: `npm run check -- imports lint`. `--docker` adds those that need Docker; `--json FILE`
 * also writes what each check said.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runHeld } from './run-held.ts';
import { type Selectable, selectChecks } from './select-checks.ts';
import { REPORTS } from './test-reports.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

interface Check extends Selectable {
  readonly command: readonly string[];
  /** Waits more than it computes: it runs beside as many checks as there are processors. */
  readonly waits?: boolean;
}

interface Outcome {
  readonly name: string;
  readonly code: number;
  readonly seconds: number;
  readonly output: string;
}

const reporters = (report: string) => [
  '--reporter=default',
  '--reporter=./deploy/tools/running-tests.ts',
  '--reporter=json',
  `--outputFile.json=${report}`,
];

/**
 * Before a command of which nothing is needed before the cluster starts. Not for tests: V8 compiles in threads that get no turn then, and
 * what is measured would be code that was not compiled.
 */
const LATER = ['nice', '-n', '5'];

const CHECKS: readonly Check[] = [
  { name: 'generated code', command: [process.execPath, 'deploy/tools/generate.ts', '--verify'] },
  {
    name: 'build',
    command: [process.execPath, 'node_modules/typescript-native/bin/tsc', '-b'],
    after: ['generated code'],
  },
  { name: 'format', command: [bin('biome'), 'format', '.'] },
  { name: 'documents', command: [process.execPath, 'deploy/tools/check-documents.ts'] },
  {
    name: 'unit tests',
    command: [bin('vitest'), 'run', ...reporters(REPORTS.unit)],
    after: ['build'],
  },
  // Fetches what the integration tests need while the other checks compute: first what those of parts wait for.
  { name: 'preparation', command: ['deploy/bin/ensure-integration', 'parts'], docker: true, waits: true },
  {
    name: 'clients',
    command: [...LATER, 'deploy/bin/ensure-integration'],
    after: ['preparation'],
    docker: true,
    waits: true,
  },
  // The cluster of the integration tests finds it made.
  {
    name: 'service image',
    command: [...LATER, 'deploy/bin/ensure-service-image'],
    after: ['build', 'preparation'],
    docker: true,
    waits: true,
  },
  {
    name: 'parts',
    command: ['deploy/bin/integration', '--project', 'parts', ...reporters(REPORTS.parts)],
    after: ['build', 'preparation'],
    docker: true,
    waits: true,
  },
  {
    name: 'imports',
    command: [
      bin('depcruise'),
      '--config',
      '.dependency-cruiser.cjs',
      'proto/src',
      'packages',
      'services',
      'deploy',
      'integration-tests/src',
      'bench/src',
    ],
  },
  { name: 'unused', command: [bin('knip'), '--no-progress', '--no-config-hints'] },
  {
    name: 'lint',
    command: [bin('eslint'), '--cache', '--cache-location', '.gantry/eslint-cache', '.'],
    after: ['build'],
  },
];

async function run({ name, command: [program = '', ...args] }: Check): Promise<Outcome> {
  const startedAt = performance.now();
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' };
  const { code, output } = await runHeld(program, args, {
    cwd: root,
    env,
    write: (text) => process.stdout.write(text),
  });
  return { name, code, seconds: (performance.now() - startedAt) / 1000, output: output.trim() };
}

const selection = selectChecks(CHECKS, process.argv.slice(2));
if ('error' in selection) {
  process.stderr.write(`${selection.error}\n`);
  process.exit(2);
}
const outcomes: Outcome[] = [];
const waiting = [...selection.checks];
const running = new Map<Check, Promise<void>>();
const computing = () => [...running.keys()].filter(({ waits }) => waits !== true).length;
const mayStart = ({ after = [], waits }: Check) =>
  after.every((name) => outcomes.some((done) => done.name === name)) &&
  (waits === true || computing() < Math.max(2, availableParallelism()));
while (waiting.length + running.size > 0) {
  const next = waiting.findIndex(mayStart);
  const check = next >= 0 ? waiting.splice(next, 1)[0] : undefined;
  if (check === undefined) {
    await Promise.race(running.values());
    continue;
  }
  running.set(
    check,
    run(check).then((outcome) => {
      running.delete(check);
      outcomes.push(outcome);
      process.stdout.write(`  ${outcome.code === 0 ? '✓' : '✗'} ${outcome.name} (${outcome.seconds.toFixed(1)} s)\n`);
    }),
  );
}

if (selection.json !== undefined) writeFileSync(selection.json, JSON.stringify(outcomes));
const failed = outcomes.filter((outcome) => outcome.code !== 0);
for (const { name, output } of failed) process.stdout.write(`\n──── ${name} ────\n${output}\n`);
const tests = outcomes
  .flatMap(({ output }) => output.split('\n'))
  .filter((line) => /^\s*(Test Files|Tests)\s/.test(line));
process.stdout.write(
  `\n${tests.join('\n')}\nchecks: ${outcomes.length - failed.length} passed, ${failed.length} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
