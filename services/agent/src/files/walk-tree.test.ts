import { mkdir, mkdtemp, open, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { seededRandom } from '@gantry/base';
import { testSeed } from '@gantry/base/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeNested, removeNested } from './testing/nested-folders.ts';
import { type WalkLimits, walkTree } from './walk-tree.ts';

const { signal } = new AbortController();
const FEW: WalkLimits = { open: 2, waiting: 3 };

let volume: string;
beforeEach(async () => {
  volume = await mkdtemp(join(tmpdir(), 'gantry-walk-'));
});
afterEach(() => removeNested(volume));

interface Walked {
  /** Paths below the volume. */
  readonly files: string[];
  readonly entered: string[];
  readonly left: string[];
}

/** What a walk visits. `onFile` may change the volume meanwhile. */
async function walk(
  limits?: WalkLimits,
  onFile: (name: string) => Promise<void> = async () => undefined,
  until: AbortSignal = signal,
): Promise<Walked> {
  await using root = await open(volume);
  const nameOf = async (fd: number) => (await readlink(`/proc/self/fd/${fd}`)).slice(volume.length + 1);
  const walked: Walked = { files: [], entered: [], left: [] };
  const file = async (path: Buffer) => {
    const [, fd = '', name = ''] = /^\/proc\/self\/fd\/(\d+)\/(.*)$/s.exec(path.toString()) ?? [];
    walked.files.push(join(await nameOf(Number(fd)), name));
    await onFile(name);
  };
  const folder = async ({ fd }: { fd: number }) => {
    walked.entered.push(await nameOf(fd));
    return 'enter' as const;
  };
  const left = async ({ fd }: { fd: number }) => void walked.left.push(await nameOf(fd));
  await walkTree(root, { file, folder, left }, until, limits);
  return walked;
}

async function descriptors(): Promise<number> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(links)).filter((link) => link.startsWith(volume)).length;
}

it.each([FEW, { open: 0, waiting: 1 }, { open: 1, waiting: 10 }, undefined])(
  'a tree is visited as a whole, each entry once, with the limits %j',
  async (limits) => {
    const random = seededRandom(testSeed('walk of a tree', 1));
    const folders: string[] = [];
    const files: string[] = [];
    for (let made = 0; made < 150; made++) {
      const parent = random() < 0.1 ? '' : (folders[Math.floor(random() * folders.length)] ?? '');
      const path = join(parent, String(made));
      if (random() < 0.4) {
        await writeFile(join(volume, path), '');
        files.push(path);
      } else {
        await mkdir(join(volume, path));
        folders.push(path);
      }
    }
    const walked = await walk(limits);
    expect(walked.files.toSorted()).toEqual(files.toSorted());
    expect(walked.entered.toSorted()).toEqual(folders.toSorted());
    expect(walked.left.toSorted()).toEqual(folders.toSorted());
    for (const folder of folders.filter((path) => dirname(path) !== '.')) {
      expect(walked.left.indexOf(dirname(folder))).toBeGreaterThan(walked.left.indexOf(folder));
    }
    expect(await descriptors()).toBe(0);
  },
);

it('links are not followed', async () => {
  await symlink('/etc', join(volume, 'link'));
  expect(await walk()).toEqual({ files: ['link'], entered: [], left: [] });
});

it('few folders are open at once, however deep a tree is', async () => {
  await using deepest = await makeNested(volume, 500);
  await deepest.close();
  let most = 0;
  await using root = await open(volume);
  const folder = async () => {
    most = Math.max(most, await descriptors());
    return 'enter' as const;
  };
  await walkTree(root, { file: async () => undefined, folder }, signal);
  // The root, 128 outer ones, the current one and its child.
  expect(most).toBe(131);
});

it('what is beside a folder is visited though the folder is moved away while the walk is in it', async () => {
  for (const path of ['a/b/c/in/deep', 'a/b/c/next', 'a/b/after', 'z'])
    await mkdir(join(volume, path), { recursive: true });
  for (const path of ['a/b/c/in/deep/trigger', 'a/b/c/next/one', 'a/b/after/two'])
    await writeFile(join(volume, path), '');
  const { files } = await walk({ open: 1, waiting: 100 }, async (name) => {
    if (name === 'trigger') await rename(join(volume, 'a/b/c/in'), join(volume, 'z/in'));
  });
  expect(files.map((path) => basename(path)).toSorted()).toEqual(['one', 'trigger', 'two']);
});

it('the walk goes on further out when folders on its path are moved away', async () => {
  for (const path of ['a/b/c/d', 'a/after', 'z']) await mkdir(join(volume, path), { recursive: true });
  for (const path of ['a/b/c/d/trigger', 'a/after/one']) await writeFile(join(volume, path), '');
  const { files } = await walk({ open: 1, waiting: 100 }, async (name) => {
    if (name !== 'trigger') return;
    await rename(join(volume, 'a/b/c/d'), join(volume, 'z/d'));
    await rename(join(volume, 'a/b/c'), join(volume, 'z/c'));
    await rename(join(volume, 'a/b'), join(volume, 'z/b'));
  });
  expect(files.map((path) => basename(path)).filter((name) => name === 'one')).toEqual(['one']);
  expect(await descriptors()).toBe(0);
});

it('what is removed meanwhile is skipped', async () => {
  for (const path of ['a/b', 'c', 'd']) await mkdir(join(volume, path), { recursive: true });
  await writeFile(join(volume, 'trigger'), '');
  const { entered } = await walk(undefined, async () => {
    for (const path of ['a', 'd']) await rm(join(volume, path), { recursive: true });
    await writeFile(join(volume, 'd'), '');
  });
  expect(entered).toEqual(['c']);
});

it('nothing more is visited after its end', async () => {
  for (const path of ['a/b', 'c/d']) await mkdir(join(volume, path), { recursive: true });
  for (const path of ['a/file', 'c/file']) await writeFile(join(volume, path), '');
  const until = new AbortController();
  const { files, left } = await walk(undefined, async () => until.abort(), until.signal);
  expect(files).toHaveLength(1);
  expect(left).toEqual([]);
  expect(await descriptors()).toBe(0);
});
