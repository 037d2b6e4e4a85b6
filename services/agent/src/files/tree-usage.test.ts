import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, open, rm, symlink, writeFile, readdir, readlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, basename } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { treeUsage, usageOf, openChildren } from './tree-usage.ts';

const { signal } = new AbortController();

describe('the size of a volume', () => {
  let base: string;
  let volume: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-size-'));
    volume = join(base, 'volume');
    await mkdir(join(volume, 'folder'), { recursive: true });
    await writeFile(join(volume, 'folder', 'file'), Buffer.alloc(100_000));
    await link(join(volume, 'folder', 'file'), join(volume, 'again'));
    await writeFile(join(base, 'outside'), Buffer.alloc(1_000_000));
    await symlink(base, join(volume, 'link'));
  });
  afterEach(() => rm(base, { recursive: true }));

  it('is what du says of it: without what links name, and each file once', async () => {
    const du = Number(execFileSync('du', ['-sk', volume], { encoding: 'utf8' }).split('\t')[0]) * 1024;
    const { bytes } = await treeUsage(volume, signal);
    expect(Math.abs(bytes - du)).toBeLessThan(1024);
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(200_000);
  });

  it('is nothing where nothing is', async () => {
    expect(await treeUsage(join(base, 'none'), signal)).toEqual({ bytes: 0, inodes: 0 });
  });

  it('counts empty files and folders, links, and each file with several names once', async () => {
    for (let made = 0; made < 20; made++) await writeFile(join(volume, 'folder', `empty-${made}`), '');
    for (let made = 0; made < 10; made++) await mkdir(join(volume, `folder-${made}`));
    // The volume, its folder, its file with two names, and the link.
    expect((await treeUsage(volume, signal)).inodes).toBe(4 + 20 + 10);
  });

  it('counts nothing of another file system', async () => {
    await using root = await open('/');
    const { inodes } = await usageOf(
      { fd: root.fd, stat: async () => Object.assign(await root.stat(), { dev: -1 }) },
      signal,
    );
    expect(inodes).toBe(1);
  });

  it('has counted so much when it is ended', async () => {
    for (let made = 0; made < 50; made++) await writeFile(join(volume, 'folder', `empty-${made}`), '');
    const until = new AbortController();
    await using root = await open(volume);
    let stats = 0;
    const counted = await usageOf(
      {
        fd: root.fd,
        stat: () => {
          if (++stats === 2) until.abort();
          return root.stat();
        },
      },
      until.signal,
    );
    expect(counted.inodes).toBe(1);
  });
});

async function folderOf(count: number) {
  const path = await mkdtemp(join(tmpdir(), 'gantry-children-'));
  onTestFinished(() => rm(path, { recursive: true }));
  await Promise.all(Array.from({ length: count }, (_, i) => writeFile(join(path, `file-${i}`), '')));
  return path;
}

/** Returns this process's descriptors that refer into a folder. */
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
