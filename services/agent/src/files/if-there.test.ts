import { mkdtemp, rm, writeFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isThere, namesIn, readIfThere, readRegularFile } from './if-there.ts';
import { execFileSync } from 'node:child_process';

async function folderWith(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-there-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, name), 'text');
  return folder;
}

it('what is there is read', async () => {
  const folder = await folderWith('file');
  expect(await isThere(join(folder, 'file'))).toBe(true);
  expect(await readIfThere(join(folder, 'file'))).toBe('text');
  expect(await namesIn(folder)).toEqual(['file']);
});

it('what is missing is nothing', async () => {
  const none = join(await folderWith('file'), 'none');
  expect(await isThere(none)).toBe(false);
  expect(await readIfThere(none)).toBeUndefined();
  expect(await namesIn(none)).toEqual([]);
});

it('another error is not taken for absence, but for those that the caller names', async () => {
  const below = join(await folderWith('file'), 'file', 'below');
  for (const look of [isThere, readIfThere, namesIn]) {
    await expect(look(below)).rejects.toThrow('ENOTDIR');
    expect([false, undefined, []]).toContainEqual(await look(below, ['ENOTDIR']));
  }
});

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
