import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { openOwned } from '../mounts/open-path.ts';
import { exerciseDiskMounts, exerciseHostMounts } from '../runtime/testing/mounts-contract.ts';
import { hollowMounts } from './hollow-mounts.ts';

it('hollow mounts keep the contract of real ones', async () => {
  const base = await mkdtemp(join(tmpdir(), 'gantry-hollow-'));
  try {
    await exerciseHostMounts(hollowMounts(), base);
    await exerciseDiskMounts(hollowMounts(), () => openOwned(base), base);
  } finally {
    await rm(base, { recursive: true });
  }
});
