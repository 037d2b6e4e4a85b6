import { deepEqual, equal, rejects } from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BindSource, HostMounts } from '../host-mounts.ts';
import type { OpenedPath } from '../host-files.ts';

/**
 * The contract of `HostMounts`. Tries it in a new folder of `base`, and rejects if it is broken. It needs no test runner, because real
 * mounts are tried in a container that may mount.
 */
export async function exerciseHostMounts(mounts: HostMounts, base: string): Promise<void> {
  const folder = join(base, 'exercise');
  await mkdir(join(folder, 'volume', 'inner'), { recursive: true });
  try {
    await bindsInOrder(mounts, folder);
    await detachesWhatIsInUse(mounts, folder);
    await keepsMemory(mounts, join(folder, 'memory'));
  } finally {
    await mounts.remove(join(folder, 'memory'));
    await rm(folder, { recursive: true });
  }
}

async function bindsInOrder(mounts: HostMounts, folder: string): Promise<void> {
  const sources = [join(folder, 'volume', 'file'), join(folder, 'volume', 'inner')];
  await writeFile(sources[0] ?? '', 'of the volume');
  await using opened = new AsyncDisposableStack();
  const paths: BindSource[] = [];
  for (const [index, source] of sources.entries()) {
    paths.push({ opened: opened.use(await openedPath(source, index)), propagation: 'none' });
  }
  const binds = join(folder, 'the #1\\binds');
  const bound = await mounts.bind(paths, binds);
  const inodes = (all: readonly string[]) => Promise.all(all.map(async (path) => (await stat(path)).ino));
  deepEqual(await inodes(bound), await inodes(sources));
  await mounts.remove(binds);
  await mounts.remove(binds);
  equal(existsSync(binds), false);
  equal(await readFile(sources[0] ?? '', 'utf8'), 'of the volume');
}

async function detachesWhatIsInUse(mounts: HostMounts, folder: string): Promise<void> {
  const source = join(folder, 'volume', 'file');
  await using opened = await openedPath(source, 0);
  const binds = join(folder, 'binds');
  const [bound = ''] = await mounts.bind([{ opened, propagation: 'none' }], binds);
  const file = await open(bound);
  try {
    await mounts.detach(binds);
    equal(await file.readFile('utf8'), 'of the volume');
  } finally {
    await file.close();
  }
  await mounts.detach(binds);
  equal(existsSync(binds), false);
  equal(await readFile(source, 'utf8'), 'of the volume');
}

async function openedPath(path: string, index: number): Promise<OpenedPath> {
  const handle = await open(path);
  const kind = index === 0 ? 'file' : 'folder';
  return {
    fd: handle.fd,
    kind,
    namespace: 'own',
    stat: () => handle.stat(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function keepsMemory(mounts: HostMounts, folder: string): Promise<void> {
  await rejects(mounts.checkMemory(folder));
  equal(await mounts.isMounted(folder), false);
  equal(await mounts.mountMemory(folder, 2 ** 20, 0o755), 'made');
  await mounts.checkMemory(folder);
  equal(await mounts.isMounted(folder), true);
  await mkdir(join(folder, 'inner'));
  equal(await mounts.isMounted(join(folder, 'inner')), false);
  await writeFile(join(folder, 'file'), 'in memory');
  equal(await mounts.mountMemory(folder, 2 ** 20, 0o755), 'kept');
  equal(await readFile(join(folder, 'file'), 'utf8'), 'in memory');
  await mounts.remove(folder);
  equal(existsSync(folder), false);
  equal(await mounts.isMounted(folder), false);
  await rejects(mounts.checkMemory(folder));
}

/** The contract of `DiskMounts`. Tries it in a new folder of `base` with a device, and rejects if it is broken. */
export async function exerciseDiskMounts(
  mounts: HostMounts,
  open: () => Promise<OpenedPath>,
  base: string,
): Promise<void> {
  const { signal } = new AbortController();
  const source = { path: '/dev/disk', fileSystem: 'ext4', options: [], access: 'read-write' } as const;
  const [first, second] = [join(base, 'disks', 'first'), join(base, 'disks', 'second')];
  const mount = (folder: string) => mounts.disks.mountDisk(folder, open, source, signal);
  equal(await mount(first), 'made');
  equal(await mounts.disks.mountDisk(first, () => Promise.reject(new TypeError('gone')), source, signal), 'kept');
  await writeFile(join(first, 'file'), 'kept');
  deepEqual([await mount(first), await mount(second)], ['kept', 'made']);
  equal(await readFile(join(first, 'file'), 'utf8'), 'kept');
  deepEqual([await mounts.isMounted(first), await mounts.isMounted(second)], [true, true]);
  await mounts.remove(join(base, 'disks'));
  deepEqual([await mounts.isMounted(first), await mounts.isMounted(second)], [false, false]);
}
