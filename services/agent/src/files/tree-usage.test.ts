import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, open, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeNested, removeNested } from './testing/nested-folders.ts';
import { treeUsage, usageOf } from './tree-usage.ts';

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
  afterEach(() => removeNested(base));

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

  it('counts what has a name that is no text', async () => {
    const name = Buffer.from([0x66, 0xff, 0xfe]);
    const before = await treeUsage(volume, signal);
    await writeFile(Buffer.concat([Buffer.from(`${volume}/`), name]), Buffer.alloc(500_000));
    const folder = Buffer.concat([Buffer.from(`${volume}/folder/`), name]);
    await mkdir(folder);
    await writeFile(Buffer.concat([folder, Buffer.from('/below')]), Buffer.alloc(500_000));
    const { bytes, inodes } = await treeUsage(volume, signal);
    expect(bytes - before.bytes).toBeGreaterThanOrEqual(1_000_000);
    expect(inodes - before.inodes).toBe(3);
  });

  it('counts what lies below more folders than a path can name', async () => {
    const before = await treeUsage(volume, signal);
    await using deepest = await makeNested(volume, 2_100);
    await writeFile(`/proc/self/fd/${deepest.fd}/file`, Buffer.alloc(1_000_000));
    const { bytes, inodes } = await treeUsage(volume, signal);
    expect(bytes - before.bytes).toBeGreaterThanOrEqual(1_000_000);
    expect(inodes - before.inodes).toBe(2_101);
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
    const counted = await usageOf(
      {
        fd: root.fd,
        stat: () => {
          until.abort();
          return root.stat();
        },
      },
      until.signal,
    );
    expect(counted.inodes).toBe(1);
  });
});
