import { mkdtempDisposable } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
