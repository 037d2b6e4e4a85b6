import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linuxMounts } from './linux-mounts.ts';
import { openBeneath, openOwned } from './open-path.ts';

describe('mounts', () => {
  it('remove a folder that is nested deeper than a path can be long', async () => {
    const base = await mkdtemp(join(tmpdir(), 'gantry-mounts-'));
    try {
      await using root = await openOwned(base);
      const deep = Array.from({ length: 40 }, () => 'n'.repeat(200)).join('/');
      await using folder = await openBeneath(root, `pod/${deep}`, 'create');
      await writeFile(`/proc/self/fd/${folder.fd}/file`, '');
      await linuxMounts().remove(join(base, 'pod'));
      expect(existsSync(join(base, 'pod'))).toBe(false);
      await linuxMounts().remove(join(base, 'pod'));
    } finally {
      await rm(base, { recursive: true });
    }
  });
});
