import { expect, it } from 'vitest';
import { runProgram, tryProgram } from './run-program.ts';

it('keeps the beginning of what a program says, however much that is', async () => {
  const script = 'echo begun >&2; head -c 10000000 /dev/zero | tr "\\0" x >&2; exit 3';
  const failure = await tryProgram('sh', ['-c', script]);
  expect(failure?.kind).toBe('failed');
  expect(failure?.output).toHaveLength(4096);
  expect(failure?.output).toMatch(/^begun\nx+$/);
});

it('gives a program up that is aborted, with the reason of that', async () => {
  const stop = new AbortController();
  const running = runProgram('sleep', ['3600'], { signal: stop.signal });
  stop.abort(new TypeError('given up'));
  await expect(running).rejects.toThrow('given up');
});

it('says that a program has not ended in its time', async () => {
  await expect(runProgram('sleep', ['3600'], { timeoutMs: 100 })).rejects.toThrow('sleep did not end within 0.1 s');
});
