import { expect, it } from 'vitest';
import { runHeld } from './run-held.ts';

function run(program: string, args: readonly string[]) {
  const written: string[] = [];
  const options = { cwd: import.meta.dirname, env: process.env, write: (text: string) => written.push(text) };
  return runHeld(program, args, options).then((held) => ({ ...held, written }));
}

it('keeps what a program writes, and writes what has been running for long at once', async () => {
  const script =
    "console.log('one'); console.error('two'); process.stdout.write('   … 10 s: a'); console.log(' test'); process.exit(3)";
  const { code, output, written } = await run(process.execPath, ['-e', script]);
  expect(code).toBe(3);
  expect(output).toContain('one\n');
  expect(output).toContain('two\n');
  expect(written).toEqual(['   … 10 s: a test\n']);
});

it('reports a program that cannot be started, and one that a signal has ended', async () => {
  expect(await run('./no-such-program', [])).toMatchObject({ code: 127, output: expect.stringContaining('ENOENT') });
  expect(await run(process.execPath, ['-e', "process.kill(process.pid, 'SIGKILL')"])).toMatchObject({ code: 1 });
});
