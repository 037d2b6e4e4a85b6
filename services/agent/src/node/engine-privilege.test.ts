import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { expect, it, onTestFinished } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { ENGINE } from '../testing/pods.ts';
import { enginePrivilege } from './engine-privilege.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };

it('an engine is probed once for each version, and again where the result is of an earlier agent or damaged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'privilege-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const hollow = new HollowRuntime({ clock: new ManualClock(), images: { pause: IMAGE } });
  let probes = 0;
  const probe = async (): Promise<'sys-resource-unknown'> => {
    probes += 1;
    return 'sys-resource-unknown';
  };
  const runtime = Object.assign(Object.create(hollow) as HollowRuntime, { engine: { ...hollow.engine, probe } });
  const { signal } = new AbortController();
  const owner = { cluster: 'c', node: 'n' };
  const file = join(folder, 'engine.json');
  const found = (version = ENGINE.version) =>
    enginePrivilege(folder, { ...ENGINE, version }, { runtime, image: 'pause', owner }, signal);

  expect([await found(), await found(), probes]).toEqual(['sys-resource-unknown', 'sys-resource-unknown', 1]);
  expect([await found('29.0.0'), probes]).toEqual(['sys-resource-unknown', 2]);
  // Earlier agents distinguished two kinds of engines, not three.
  await writeFile(file, JSON.stringify({ engine: ENGINE.id, version: '29.0.0', privilege: 'no-sys-resource' }));
  expect([await found('29.0.0'), probes]).toEqual(['sys-resource-unknown', 3]);
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, 10));
  expect([await found('29.0.0'), probes]).toEqual(['sys-resource-unknown', 4]);
});
