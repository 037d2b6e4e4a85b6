import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readOptions } from './options.ts';

it('simulates 1,000 seeds unless others are asked for', () => {
  expect(readOptions([])).toMatchObject({ first: 1, count: 1_000 });
  expect(readOptions(['--first', '51', '--seeds', '50', '--jobs', '3'])).toEqual({ first: 51, count: 50, jobs: 3 });
  expect(readOptions(['--first', '4294967286', '--seeds', '10'])).toMatchObject({ first: 4_294_967_286 });
});

it('simulates one seed', () => {
  expect(readOptions(['--seed', '0'])).toEqual({ seed: 0, logs: 'hidden' });
  expect(readOptions(['--seed', '17', '--log'])).toEqual({ seed: 17, logs: 'shown' });
});

it.each([
  [['--jobs', '0'], '--jobs: "0" is no whole number from 1 to 256'],
  [['--jobs=-1'], '--jobs: "-1" is no'],
  [['--jobs', '1.5'], '--jobs: "1.5" is no'],
  [['--seeds', 'x'], '--seeds: "x" is no whole number from 1 to 10000000'],
  [['--seeds', '0'], '--seeds: "0" is no'],
  [['--seeds', '1e9'], '--seeds: "1e9" is no'],
  [['--first=-5'], '--first: "-5" is no'],
  [['--first', '4294967286', '--seeds', '11'], '--first: "4294967286" is no whole number from 0 to 4294967285'],
  [['--seed', ''], '--seed: "" is no whole number from 0 to 4294967295'],
  [['--seed', '4294967296'], '--seed: "4294967296" is no'],
  [['--bogus'], "Unknown option '--bogus'"],
])('%j is refused', (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

it('ends with code 2 and one line', () => {
  const program = ['--conditions=gantry-source', join(import.meta.dirname, 'main.ts')];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, '--jobs', '0'], { encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: '--jobs: "0" is no whole number from 1 to 256\n',
  });
});
