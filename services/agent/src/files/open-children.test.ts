import { mkdir, mkdtemp, open, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openChildren } from './open-children.ts';

async function folderOf(count: number) {
  const path = await mkdtemp(join(tmpdir(), 'gantry-children-'));
  onTestFinished(() => rm(path, { recursive: true }));
  await Promise.all(Array.from({ length: count }, (_, i) => writeFile(join(path, `file-${i}`), '')));
  return path;
}

/** The descriptors of this process that lead into a folder. */
async function descriptorsIn(path: string): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith(path)).length;
}

it('opens each entry of a folder by its name only, links included', async () => {
  const path = await folderOf(100);
  await symlink('/etc/passwd', join(path, 'link'));
  await using folder = await open(path);
  const found: string[] = [];
  for await (const child of openChildren(folder)) {
    const stats = await child.handle.stat();
    found.push(`${basename(child.path)} ${stats.isSymbolicLink() ? 'link' : 'file'}`);
  }
  expect(found.toSorted()).toEqual(
    [...Array.from({ length: 100 }, (_, i) => `file-${i} file`), 'link link'].toSorted(),
  );
});

it('has one entry open at a time, and none when the caller stops', async () => {
  const path = await folderOf(100);
  await using folder = await open(path);
  let taken = 0;
  for await (const child of openChildren(folder)) {
    // The folder, its listing and the entry.
    expect(await descriptorsIn(path)).toBe(3);
    expect(child.handle.fd).toBeGreaterThan(0);
    if (++taken === 10) break;
  }
  expect(await descriptorsIn(path)).toBe(1);
});

it('is empty when the folder was removed meanwhile', async () => {
  const path = await folderOf(3);
  await using folder = await open(path);
  await rm(path, { recursive: true });
  await mkdir(path);
  const found: string[] = [];
  for await (const child of openChildren(folder)) found.push(child.path);
  expect(found).toEqual([]);
});
