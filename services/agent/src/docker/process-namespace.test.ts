import { open } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { NAMESPACE_PATH, type NamespaceProgram, runWithNamespace } from './process-namespace.ts';

async function run(program: Omit<NamespaceProgram, 'timeoutMs'>, timeoutMs = 30_000) {
  await using namespace = await open('/proc/self/ns/net');
  return await runWithNamespace(namespace, { ...program, timeoutMs });
}

it('a program has the namespace, its input, and says by its error output how it ended', async () => {
  const command = `readlink ${NAMESPACE_PATH} >&2; cat >&2; exit 3`;
  const { code, output } = await run({ command: ['sh', '-c', command], input: 'link set lo up\n' });
  expect(code).toBe(3);
  expect(output).toMatch(/^net:\[\d+\]\nlink set lo up$/);
});

it('a program without input reads its end', async () => {
  expect(await run({ command: ['cat'] })).toEqual({ code: 0, output: '' });
});

it('a program that does not read its input has an exit code all the same', async () => {
  const input = 'x'.repeat(2 ** 20);
  expect(await run({ command: ['sh', '-c', 'echo no >&2; exit 1'], input })).toEqual({ code: 1, output: 'no' });
});

it('a program that takes too long is killed; one that is not there is an error', async () => {
  expect(await run({ command: ['sleep', '3600'] }, 50)).toEqual({ code: null, output: '' });
  await expect(run({ command: ['no-such-program'] })).rejects.toThrow('ENOENT');
});
