/**
 * `npm run check`: everything that can be checked without a daemon, two checks at a time, all failures reported at the
 * end. Names of checks run these alone: `npm run check -- words lint`. `--json FILE` also writes what each check said.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Selectable, selectChecks } from './select-checks.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

interface Check extends Selectable {
  readonly command: readonly string[];
}

interface Outcome {
  readonly name: string;
  readonly code: number;
  readonly seconds: number;
  readonly output: string;
}

const CHECKS: readonly Check[] = [
  { name: 'generated code', command: [process.execPath, 'deploy/tools/generate.ts', '--verify'] },
  {
    name: 'build',
    command: [process.execPath, 'node_modules/typescript-native/bin/tsc', '-b'],
    after: ['generated code'],
  },
  { name: 'format', command: [bin('biome'), 'format', '.'] },
  { name: 'layers', command: [process.execPath, 'deploy/tools/check-layers.ts'] },
  { name: 'words', command: [process.execPath, 'deploy/tools/check-words.ts'] },
  { name: 'documents', command: [process.execPath, 'deploy/tools/check-documents.ts'] },
  {
    name: 'unit tests',
    command: [
      bin('vitest'),
      'run',
      '--reporter=default',
      '--reporter=./deploy/tools/running-tests.ts',
      '--reporter=json',
      '--outputFile.json=.gantry/unit.json',
    ],
    after: ['build'],
  },
  {
    name: 'cycles',
    command: [
      bin('depcruise'),
      '--config',
      '.dependency-cruiser.cjs',
      'proto/src',
      'packages',
      'services',
      'deploy/src',
      'integration-tests/src',
    ],
  },
  { name: 'unused', command: [bin('knip'), '--no-progress', '--no-config-hints'] },
  {
    name: 'lint',
    command: [bin('eslint'), '--cache', '--cache-location', '.gantry/eslint-cache', '.'],
    after: ['build'],
  },
];

/** A line of running-tests.ts. */
const RUNNING = /^ +… /;

function run(check: Check): Promise<Outcome> {
  const startedAt = performance.now();
  const [program = '', ...args] = check.command;
  return new Promise((done) => {
    const child = spawn(program, args, { cwd: root, env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      const text = chunk.toString();
      output += text;
      // What has been running for long is said at once, all else when the check has ended.
      for (const line of text.split('\n')) if (RUNNING.test(line)) process.stdout.write(`${line}\n`);
    });
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const end = (code: number) =>
      done({ name: check.name, code, seconds: (performance.now() - startedAt) / 1000, output: output.trim() });
    child.once('error', (error) => {
      output += error.message;
      end(127);
    });
    child.once('close', (code) => end(code ?? 1));
  });
}

const selection = selectChecks(CHECKS, process.argv.slice(2));
if ('error' in selection) {
  process.stderr.write(`${selection.error}\n`);
  process.exit(2);
}
const outcomes: Outcome[] = [];
const waiting = [...selection.checks];
const running = new Map<string, Promise<void>>();
while (waiting.length + running.size > 0) {
  const next = waiting.findIndex((check) =>
    (check.after ?? []).every((name) => outcomes.some((done) => done.name === name)),
  );
  const check =
    running.size < Math.max(2, availableParallelism()) && next >= 0 ? waiting.splice(next, 1)[0] : undefined;
  if (check === undefined) {
    await Promise.race(running.values());
    continue;
  }
  running.set(
    check.name,
    run(check).then((outcome) => {
      running.delete(check.name);
      outcomes.push(outcome);
      process.stdout.write(`  ${outcome.code === 0 ? '✓' : '✗'} ${outcome.name} (${outcome.seconds.toFixed(1)} s)\n`);
    }),
  );
}

if (selection.json !== undefined) writeFileSync(selection.json, JSON.stringify(outcomes));
const failed = outcomes.filter((outcome) => outcome.code !== 0);
for (const { name, output } of failed) process.stdout.write(`\n──── ${name} ────\n${output}\n`);
const tests = outcomes
  .find((outcome) => outcome.name === 'unit tests')
  ?.output.split('\n')
  .filter((line) => /^\s*(Test Files|Tests)\s/.test(line));
process.stdout.write(
  `\n${(tests ?? []).join('\n')}\nchecks: ${outcomes.length - failed.length} passed, ${failed.length} failed\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
