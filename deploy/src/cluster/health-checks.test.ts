import { expect, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { healthCommand, withHealthNow } from './health-checks.ts';

const container = (name: string, health: string, state = 'running') => ({
  ...{ name, service: name, state, health, image: 'x' },
});

/** An engine whose checks of some containers fail. */
function engineWith(failing: readonly string[]) {
  const checked: string[] = [];
  const run = (_program: string, args: readonly string[]) => {
    const name = args[0] === 'exec' ? (args[1] ?? '') : (args.at(-1) ?? '');
    if (args[0] === 'inspect') return Promise.resolve({ code: 0, stdout: '["CMD","healthcheck"]\n', stderr: '' });
    expect(args.slice(2)).toEqual(['healthcheck']);
    checked.push(name);
    return Promise.resolve({ code: failing.includes(name) ? 1 : 0, stdout: '', stderr: '' });
  };
  return { shell: { run }, checked };
}

test('what health checks say now counts, not what they said when the engine asked last', async () => {
  const { shell, checked } = engineWith(['cut', 'starts']);
  const containers = [
    container('cut', 'healthy'),
    container('recovered', 'unhealthy'),
    container('started', 'starting'),
    container('starts', 'starting'),
    container('paused', 'unhealthy', 'paused'),
    container('without', ''),
  ];
  const now = await withHealthNow(shell, containers, () => true);
  expect(now.map(({ name, health }) => [name, health])).toEqual([
    ['cut', 'unhealthy'],
    ['recovered', 'healthy'],
    ['started', 'healthy'],
    ['starts', 'starting'],
    ['paused', 'unhealthy'],
    ['without', ''],
  ]);
  expect(checked.toSorted()).toEqual(['cut', 'cut', 'recovered', 'started', 'starts', 'starts']);
});

test('a single failure says nothing, as for the engine, and neither does a check that takes too long', async () => {
  const { shell } = engineWith([]);
  let execs = 0;
  const failingOnce: Shell = {
    run: async (program, args) => {
      const result = await shell.run(program, args);
      return args[0] === 'exec' && ++execs === 1 ? { ...result, code: 1 } : result;
    },
  };
  const containers = [container('a', 'healthy')];
  expect(await withHealthNow(failingOnce, containers, () => true)).toEqual(containers);
  const slow: Shell = {
    run: async (program, args) => {
      const result = await shell.run(program, args);
      return args[0] === 'exec' ? { ...result, code: 1, stderr: 'ended by SIGKILL' } : result;
    },
  };
  for (const health of ['healthy', 'unhealthy'])
    expect(await withHealthNow(slow, [container('a', health)], () => true)).toEqual([container('a', health)]);
});

test('only those that are asked cost a process', async () => {
  const { shell, checked } = engineWith(['a', 'b']);
  const containers = [container('a', 'healthy'), container('b', 'unhealthy')];
  const now = await withHealthNow(shell, containers, ({ health }) => health !== 'healthy');
  expect(now).toEqual(containers);
  expect(new Set(checked)).toEqual(new Set(['b']));
});

test('a container that is gone meanwhile keeps what the engine said', async () => {
  const shell = { run: () => Promise.resolve({ code: 1, stdout: '', stderr: 'No such object: a' }) };
  const containers = [container('a', 'healthy')];
  expect(await withHealthNow(shell, containers, () => true)).toEqual(containers);
});

test.each([
  [
    ['CMD', 'healthcheck', '-x'],
    ['healthcheck', '-x'],
  ],
  [
    ['CMD-SHELL', 'a && b'],
    ['sh', '-c', 'a && b'],
  ],
  [['NONE'], undefined],
  [undefined, undefined],
])('the health check %j is the command %j', (check, command) => {
  expect(healthCommand(check)).toEqual(command);
});
