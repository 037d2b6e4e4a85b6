import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { Volume } from '@gantry/objects';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { ContentBudget } from '../volumes/content-budget.ts';
import type { VolumeContext } from '../volumes/volume-types/volume-type.ts';
import { gitRepoVolume } from './example-volume.ts';
import { nodeFacts, pod } from './pods.ts';

const signal = new AbortController().signal;
const volume: Volume = { name: 'v', gitRepo: { repository: 'https://example.dev/a.git' } };
const context: VolumeContext = {
  pod: pod(),
  podAddress: '10.0.0.9',
  facts: nodeFacts(1000),
  source: { configMap: async () => undefined, secret: async () => undefined, trustBundles: async () => [] },
  token: async () => 'token',
  budget: new ContentBudget(),
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-volume-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('shows the repository in a read-only file', async () => {
  const hostFiles = linuxHostFiles(async () => folder);
  const mount = () => Promise.reject(new Error('the volume lies on the disk'));
  const target = { folder, clock: new ManualClock(), hostFiles, mountMemory: mount, mountNfs: mount };
  await gitRepoVolume.sync(volume, target, context, signal);
  expect(await readFile(join(folder, 'SOURCE'), 'utf8')).toBe('https://example.dev/a.git@HEAD\n');
  expect((await stat(join(folder, 'SOURCE'))).mode & 0o777).toBe(0o444);
});
