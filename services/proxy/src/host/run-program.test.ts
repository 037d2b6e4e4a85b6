import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { followProgram, runProgram } from './run-program.ts';

const { signal } = new AbortController();

test('a program gets its input, and its output is the result', async () => {
  expect(await runProgram('cat', ['-'], signal, 'some text')).toBe('some text');
});

test('a program that fails says why', async () => {
  const ended = runProgram('sh', ['-c', 'echo wrong >&2; exit 3'], signal);
  await expect(ended).rejects.toMatchObject({ name: 'ProgramError', code: 3, message: 'sh ended with 3: wrong' });
  await expect(runProgram('/no/such/program', [], signal)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('lines are given as they come, until the program ends', async () => {
  const lines: string[] = [];
  const followed = followProgram('printf', ['one\\ntwo\\n'], (line) => lines.push(line), signal);
  await expect(followed).rejects.toMatchObject({ code: 0 });
  expect(lines).toEqual(['one', 'two']);
});

/** Runs in its own process, which may have few open files. Prints the functions' errors when no more files can be opened. */
const WITHOUT_FILES = `
const { closeSync, openSync } = await import('node:fs');
const { followProgram, runProgram } = await import(process.argv[1]);
const { signal } = new AbortController();
const codes = [];
const note = (error) => codes.push(error.code);
const open = [];
try { for (;;) open.push(openSync('/dev/null')); } catch {}
await runProgram('true', [], signal).catch(note);
await followProgram('true', [], () => undefined, signal).catch(note);
for (const file of open) closeSync(file);
console.log(codes.join());
`;

test('a process with too many open files goes on: running a program fails', async () => {
  const module = join(import.meta.dirname, 'run-program.ts');
  const node = `ulimit -n 100; exec "$0" --conditions=gantry-source --input-type=module -e "$1" "$2"`;
  const { stdout } = await promisify(execFile)('sh', ['-c', node, process.execPath, WITHOUT_FILES, module]);
  expect(stdout.trim()).toBe('EMFILE,EMFILE');
});
