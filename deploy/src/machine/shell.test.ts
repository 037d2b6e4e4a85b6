import { expect, test } from 'vitest';
import { createShell, type ShellOptions, withLimit } from './shell.ts';

const shell = createShell('.', process.env);
const HANGS = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`;

test('a program that takes longer than it may is killed, and that is said', async () => {
  const result = await withLimit(shell, 500).run(process.execPath, ['-e', HANGS]);
  expect(result).toEqual({ code: 1, stdout: '', stderr: 'ended by SIGKILL' });
});

test('signals of the terminal do not reach a program with a group of its own', async () => {
  // A group has the id of the process that leads it.
  const program = 'process.kill(-process.pid, 0)';
  const codeOf = async (options: ShellOptions) => (await shell.run(process.execPath, ['-e', program], options)).code;
  expect(await codeOf({ timeoutMs: 60_000 })).toBe(1);
  expect(await codeOf({ timeoutMs: 60_000, group: 'own' })).toBe(0);
});

test('a program has its code and its output', async () => {
  const program = `process.stdout.write('out'); process.stderr.write('one\\ntwo'); process.exitCode = 3`;
  const lines: string[] = [];
  const result = await shell.run(process.execPath, ['-e', program], {
    timeoutMs: 60_000,
    onLine: (line) => lines.push(line),
  });
  expect(result).toEqual({ code: 3, stdout: 'out', stderr: 'one\ntwo' });
  expect(lines).toEqual(['one']);
});
