import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isThere, namesIn, readIfThere } from './if-there.ts';

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
