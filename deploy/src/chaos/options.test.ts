import { expect, test } from 'vitest';
import { CommandError } from '../machine/command-error.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { readOptions } from './options.ts';
import { WORKLOADS } from './workloads/index.ts';

const choices = { kinds: FAULT_KINDS, impossible: new Map([['delay', 'no netem']]), workloads: WORKLOADS };
const read = (...args: string[]) => readOptions(args, choices, '/', () => 0.5);

test('without options, five minutes of all faults and workloads, with a seed that is chosen', () => {
  const options = read();
  expect(options).toMatchObject({ durationMs: 300_000, intensity: 2, output: 'lines', plan: undefined });
  expect(options.kinds).toEqual(FAULT_KINDS);
  expect(options.workloads).toEqual(WORKLOADS);
  expect(options.seed).toBe(Math.floor((2 ** 32 - 1) / 2));
  expect(options.text['seed']).toBe(options.seed);
});

test('options choose kinds, workloads, the time and the seed', () => {
  const options = read(
    '--faults',
    'kill,pause',
    '--workload',
    'counters',
    '--duration',
    '90s',
    '--seed',
    '7',
    '--json',
  );
  expect(options.kinds.map(({ kind }) => kind)).toEqual(['kill', 'pause']);
  expect(options.workloads.map(({ name }) => name)).toEqual(['counters']);
  expect(options).toMatchObject({ durationMs: 90_000, seed: 7, output: 'json' });
});

test.each([
  [['--faults', 'flood'], '--faults: there is no flood'],
  [['--faults', 'delay'], '--faults: delay is not possible here: no netem'],
  [['--workload', 'nothing'], '--workload: there is no nothing'],
  [['--duration', 'soon'], '--duration'],
  [['--duration', '0s'], '--duration'],
  [['--intensity', '0'], '--intensity: 0 is no whole number from 1 to 10'],
  [['--seed', '-1'], '--seed'],
  [['--seed=1.5'], '--seed'],
  [['--plan', '/does/not/exist'], '--plan'],
  [['--unknown'], "Unknown option '--unknown'"],
])('%s is refused', (args, message) => {
  expect(() => read(...args)).toThrow(CommandError);
  expect(() => read(...args)).toThrow(message);
});
