import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { replaceFile } from './replace-file.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'replace-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

it('replaces a file by another one with the new content, and leaves no other', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'a');
  await writeFile(path, 'a long text', { mode: 0o644 });
  const before = await stat(path);
  await replaceFile(path, 'short', { mode: 0o600 });
  expect(await readFile(path, 'utf8')).toBe('short');
  const after = await stat(path);
  expect(after.ino).not.toBe(before.ino);
  expect(after.mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['a']);
});

it('leaves the file as it was when the content cannot be written', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'a');
  await writeFile(path, 'before');
  await expect(replaceFile(path, 'after', { temporary: join(folder, 'missing', 'a') })).rejects.toThrow('ENOENT');
  expect(await readFile(path, 'utf8')).toBe('before');
});

it('gives the new file its mode, and changes no other, whatever a writer before has left', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'a');
  await writeFile(`${path}.next`, 'left', { mode: 0o644 });
  await replaceFile(path, 'first', { mode: 0o600 });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const other = join(folder, 'other');
  await writeFile(other, 'kept');
  await symlink(other, `${path}.next`);
  await replaceFile(path, 'second', { mode: 0o600 });
  expect(await readFile(other, 'utf8')).toBe('kept');
  expect(await readFile(path, 'utf8')).toBe('second');
});
