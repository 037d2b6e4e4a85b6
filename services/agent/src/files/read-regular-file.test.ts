import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readRegularFile } from './read-regular-file.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gantry-regular-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

it('a regular file is read, through links, up to its bound', async () => {
  const base = await folder();
  await writeFile(join(base, 'file'), 'text');
  await symlink('file', join(base, 'link'));
  expect((await readRegularFile(join(base, 'link'), 4)).toString()).toBe('text');
  expect(await readRegularFile(join(base, 'file'), 3)).toBe('too-large');
  await writeFile(join(base, 'empty'), '');
  expect(await readRegularFile(join(base, 'empty'), 0)).toEqual(Buffer.alloc(0));
});

it('what is no regular file is not read, and no pipe is waited for', async () => {
  const base = await folder();
  execFileSync('mkfifo', [join(base, 'pipe')]);
  for (const path of [base, join(base, 'pipe'), '/dev/zero']) expect(await readRegularFile(path, 10)).toBe('other');
  await expect(readRegularFile(join(base, 'none'), 10)).rejects.toThrow('ENOENT');
});
