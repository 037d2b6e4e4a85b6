import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAgentError } from '../runtime/agent-error.ts';
import { openBeneath, openInImage, openOwned } from './open-path.ts';
import type { OpenedPath } from '../runtime/host-files.ts';

const refusal = (why: string) =>
  expect.toSatisfy(
    (error: unknown) => isAgentError(error, 'CreateContainerConfigError') && error.message.includes(why),
    why,
  );

describe('a path inside a volume', () => {
  let base: string;
  let volume: string;
  let secret: string;
  let root: OpenedPath;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-open-'));
    volume = join(base, 'volume');
    secret = join(base, 'outside');
    await mkdir(join(volume, 'folder', 'deep'), { recursive: true });
    await mkdir(secret);
    await writeFile(join(volume, 'folder', 'file'), 'inside');
    await writeFile(join(secret, 'key'), 'outside');
    await chmod(volume, 0o777);
    root = await openOwned(volume);
  });
  afterEach(async () => {
    await root[Symbol.asyncDispose]();
    await rm(base, { recursive: true });
  });

  const inode = async (subPath: string) => {
    await using opened = await openBeneath(root, subPath, 'create');
    return (await opened.stat()).ino;
  };
  const inodeOf = (path: string) => statSync(path).ino;

  it('is opened as what it is', async () => {
    expect(await inode('')).toBe(inodeOf(volume));
    expect(await inode('folder//./deep/')).toBe(inodeOf(join(volume, 'folder/deep')));
    await using file = await openBeneath(root, 'folder/file', 'refuse');
    expect(file.kind).toBe('file');
    expect(await readFile(`/proc/self/fd/${file.fd}`, 'utf8')).toBe('inside');
  });

  it('is bound in the namespace that the volume belongs to', async () => {
    await using host = await openOwned(volume, 'host');
    for (const [from, namespace] of [[root, 'own'] as const, [host, 'host'] as const]) {
      for (const subPath of ['folder/file', 'folder', '']) {
        await using opened = await openBeneath(from, subPath, 'refuse');
        expect(opened.namespace, subPath).toBe(namespace);
      }
    }
  });

  it('is made when it is missing, with the mode of the root', async () => {
    await using opened = await openBeneath(root, 'new/deeper', 'create');
    expect(opened.kind).toBe('folder');
    expect(statSync(join(volume, 'new/deeper')).mode & 0o7777).toBe(0o777);
    await expect(openBeneath(root, 'other', 'refuse')).rejects.toEqual(refusal('does not exist'));
  });

  it('may lead through links that stay in the volume, such as those of a Secret', async () => {
    await symlink('..2026', join(volume, '..data'));
    await mkdir(join(volume, '..2026'));
    await writeFile(join(volume, '..2026', 'password'), '');
    await symlink('..data/password', join(volume, 'password'));
    await symlink('../folder/./deep/../file', join(volume, 'folder/back'));
    expect(await inode('password')).toBe(inodeOf(join(volume, '..2026/password')));
    expect(await inode('folder/back')).toBe(inodeOf(join(volume, 'folder/file')));
  });

  it.each([
    ['link/key', '/', 'leads out of its volume'],
    ['link/etc/passwd', '/', 'leads out of its volume'],
    ['link', '../outside/key', 'leads out of its volume'],
    ['link/key', '../outside', 'leads out of its volume'],
    ['link/key', 'folder/../../outside', 'leads out of its volume'],
    ['link/key', '/proc/self/root', 'leads out of its volume'],
    ['link', 'link', 'too many links'],
    ['link/new', 'folder', 'does not exist behind a link'],
    ['link', 'nowhere', 'does not exist behind a link'],
    ['link/x', 'folder/file', 'leads through a file'],
    ['../outside/key', 'folder', 'leads out of its volume'],
    ['folder/../..', 'folder', 'leads out of its volume'],
  ])('%s is refused where link is a link to %s', async (subPath, target, why) => {
    await symlink(target, join(volume, 'link'));
    await expect(openBeneath(root, subPath, 'create')).rejects.toEqual(refusal(why));
    expect(readdirSync(secret)).toEqual(['key']);
  });

  it('is refused for names that no file can have', async () => {
    await expect(openBeneath(root, 'n'.repeat(300), 'create')).rejects.toEqual(refusal('ENAMETOOLONG'));
    await expect(openBeneath(root, 'folder/file/x', 'create')).rejects.toEqual(refusal('leads through a file'));
  });

  it('is refused where it would keep too many folders open, or lead through too many names', async () => {
    const deep = (depth: number) => Array.from({ length: depth }, () => 'd').join('/');
    await using deepest = await openBeneath(root, deep(128), 'create');
    expect(deepest.kind).toBe('folder');
    await expect(openBeneath(root, deep(129), 'create')).rejects.toEqual(refusal('is too deep'));
    await symlink(Array.from({ length: 600 }, () => 'd/..').join('/'), join(volume, 'zigzag'));
    await expect(openBeneath(root, 'zigzag', 'refuse')).rejects.toEqual(refusal('is too deep'));
  });

  it('is opened without waiting where a FIFO stands in place of a file', async () => {
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    await using opened = await openBeneath(root, 'fifo', 'create');
    expect((await opened.stat()).isFIFO()).toBe(true);
    await expect(openBeneath(root, 'fifo/x', 'create')).rejects.toEqual(refusal('leads through a file'));
  });

  it('is refused where it is a device', async () => {
    await using devices = await openOwned('/dev');
    await expect(openBeneath(devices, 'null', 'refuse')).rejects.toEqual(refusal('is a device'));
  });

  it('stays in the volume whenever a folder and a link change places', async () => {
    const target = join(volume, 'target');
    const swapped = join(volume, 'swapped');
    mkdirSync(target);
    symlinkSync(secret, swapped);
    const exchange = () => {
      const parked = join(volume, 'parked');
      renameSync(target, parked);
      renameSync(swapped, target);
      renameSync(parked, swapped);
    };
    const seen = new Set<string>();
    for (let round = 0; round < 200; round++) {
      const opening = openBeneath(root, 'target/made', 'create').then(
        async (opened) => {
          await using _ = opened;
          return (await opened.stat()).ino;
        },
        (error: unknown) => error,
      );
      // The number of event loop turns differs by round, so that the exchange meets the walk at each of its points.
      for (let step = 0; step < round % 8; step++) await new Promise((resolve) => setImmediate(resolve));
      exchange();
      const outcome = await opening;
      seen.add(typeof outcome === 'number' ? 'opened' : 'refused');
      expect(readdirSync(secret)).toEqual(['key']);
      if (typeof outcome !== 'number') expect(isAgentError(outcome, 'CreateContainerConfigError')).toBe(true);
      for (const name of ['target', 'swapped']) {
        const path = join(volume, name);
        if (!lstatSync(path).isSymbolicLink()) rmSync(join(path, 'made'), { recursive: true, force: true });
      }
    }
    expect([...seen].sort()).toEqual(['opened', 'refused']);
    for (const path of [target, swapped]) if (lstatSync(path).isSymbolicLink()) unlinkSync(path);
  });
});

describe('a path of the agent', () => {
  it('must not end at a link', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-open-'));
    try {
      await symlink('/', join(folder, 'link'));
      await expect(openOwned(join(folder, 'link'))).rejects.toEqual(refusal('is a link'));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('a path inside an image', () => {
  it('follows links as a container of the image does, and never out of it', async () => {
    const base = await mkdtemp(join(tmpdir(), 'gantry-image-'));
    try {
      const image = join(base, 'image');
      await mkdir(join(image, 'etc'), { recursive: true });
      await writeFile(join(image, 'etc', 'inside'), '');
      await writeFile(join(base, 'outside'), '');
      await symlink('/', join(image, 'root'));
      await symlink('../../../etc', join(image, 'up'));
      await using root = await openOwned(image);
      const inode = async (path: string) => {
        await using found = await openInImage(root, path);
        return (await found.stat()).ino;
      };
      const inside = statSync(join(image, 'etc', 'inside')).ino;
      for (const path of ['etc/inside', 'root/etc/inside', 'up/inside', 'root/root/../etc/inside']) {
        expect(await inode(path), path).toBe(inside);
      }
      for (const path of ['root/outside', 'root/../outside', `root${base}/outside`, 'none', 'etc/inside/more']) {
        await expect(inode(path), path).rejects.toThrow(`path ${JSON.stringify(path)}`);
      }
    } finally {
      await rm(base, { recursive: true });
    }
  });
});
