import { mkdtempDisposable } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Figure } from './figures.ts';
import { describeRun, readRun, saveRun } from './runs.ts';

it('a saved run is read as it was', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-runs-'));
  const file = join(folder.path, 'run.json');
  const run = describeRun([{ work: 'create, gRPC', what: 'CPU', value: 464, unit: 'us', better: 'less' }]);
  saveRun(file, run);
  expect(readRun(file)).toEqual(run);
  expect(run.revision).toMatch(/^\w/);
});

it('another file is refused', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-runs-'));
  const file = join(folder.path, 'run.json');
  writeFileSync(file, '[{"what":"create"}]');
  expect(() => readRun(file)).toThrow();
});

it.each([Number.NaN, Infinity])('a figure that is %d is named, and the others are saved', async (value) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-runs-'));
  const file = join(folder.path, 'run.json');
  const good: Figure = { work: 'rest', what: 'CPU of dns', value: 0.4, unit: '%', better: 'less' };
  const run = describeRun([{ work: 'rest', what: 'transactions of etcd', value, unit: '/min', better: 'less' }, good]);
  expect(() => saveRun(file, run)).toThrow('no numbers were not saved: transactions of etcd of "rest"');
  expect(readRun(file).figures).toEqual([good]);
});

it('a file with a figure that is no number is refused, and the figure is named', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-runs-'));
  const file = join(folder.path, 'run.json');
  const run = describeRun([{ work: 'rest', what: 'CPU', value: Number.NaN, unit: '%', better: 'less' }]);
  writeFileSync(file, JSON.stringify(run));
  expect(() => readRun(file)).toThrow('CPU of "rest" is no number');
});
