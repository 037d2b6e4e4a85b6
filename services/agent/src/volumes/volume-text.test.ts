import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { volumeText } from './volume-text.ts';

it('is that of a regular file in the volume, which a link in it may name, and of nothing outside', async () => {
  const base = await mkdtemp(join(tmpdir(), 'gantry-text-'));
  onTestFinished(() => rm(base, { recursive: true }));
  const volume = join(base, 'volume');
  await mkdir(join(volume, 'folder'), { recursive: true });
  await writeFile(join(volume, 'folder', 'env'), "A='1'");
  await writeFile(join(base, 'secret'), "A='secret'");
  await writeFile(join(volume, 'large'), Buffer.alloc(2 ** 20 + 1));
  await symlink('folder/env', join(volume, 'inside'));
  await symlink('../secret', join(volume, 'outside'));
  await symlink(join(base, 'secret'), join(volume, 'absolute'));
  await symlink('/', join(volume, 'root'));
  execFileSync('mkfifo', [join(volume, 'fifo')]);
  for (const path of ['folder/env', 'inside']) expect(await volumeText(volume, path)).toBe("A='1'");
  const refused = ['outside', 'absolute', `root${base}/secret`, '../secret', 'none', 'folder', 'fifo', 'large'];
  for (const path of refused) expect(await volumeText(volume, path)).toBeUndefined();
});
