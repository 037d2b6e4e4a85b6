import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { must } from '@gantry/base';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { exerciseDiskMounts } from '../runtime/testing/mounts-contract.ts';
import { LoopDevices } from '../testing/loop-devices.ts';
import { deviceNumber } from './linux-disks.ts';
import { linuxHostFiles } from './linux-host-files.ts';
import { linuxMounts } from './linux-mounts.ts';
import type { DiskSource } from '../runtime/host-mounts.ts';

const { signal } = new AbortController();
const SIZE = 16 * 2 ** 20;
const files = linuxHostFiles(async () => '/');
const run = promisify(execFile);

describe('a disk of this machine', () => {
  let base: string;
  let devices: LoopDevices;
  const mounts = linuxMounts();
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-disks-'));
    devices = new LoopDevices();
  });
  afterEach(async () => {
    try {
      await mounts.remove(base);
    } finally {
      await devices[Symbol.asyncDispose]();
    }
  });

  const mount = async (path: string, name: string, change: Partial<DiskSource> = {}) => {
    const source = { path, fileSystem: 'ext4', options: [], access: 'read-write', ...change } as const;
    return await mounts.disks.mountDisk(join(base, name), openerOf(path), source, signal);
  };
  const openerOf = (path: string) => async () => must(await files.open(path), 'a device');
  const start = async (device: string) => (await readFile(device)).subarray(0, 2 ** 16);

  it('keeps the contract of disks', async () => {
    const path = await devices.make('', SIZE);
    await exerciseDiskMounts(mounts, openerOf(path), base);
  });

  it('gets a file system once, which all see who mount it', async () => {
    const path = await devices.make('', SIZE);
    const both = await Promise.all(['a', 'b'].map((name) => mount(path, name)));
    expect(both).toEqual(['made', 'made']);
    await writeFile(join(base, 'a', 'file'), 'kept');
    expect(await readFile(join(base, 'b', 'file'), 'utf8')).toBe('kept');
    await mounts.remove(join(base, 'a'));
    await mounts.remove(join(base, 'b'));
    await mount(path, 'c', { options: ['noatime'] });
    expect(await readdir(join(base, 'c'))).toEqual(['file', 'lost+found']);
    const table = await readFile('/proc/self/mountinfo', 'utf8');
    expect(table).toMatch(new RegExp(` ${deviceNumber((await stat(path)).rdev)} / ${join(base, 'c')} \\S*noatime`));
  });

  it.each([
    ['of a partition table', async (path: string) => void (await partition(path))],
    ['of swap space', async (path: string) => void (await run('mkswap', [path]))],
    ['of another file system', async (path: string) => void (await run('mkfs.ext2', ['-q', '-F', path]))],
  ])('is never written to where it has a signature %s', async (_, sign) => {
    const path = await devices.make('', SIZE);
    await sign(path);
    const before = await start(path);
    const mounted = mount(path, 'a', { fileSystem: 'ext3' });
    await expect(mounted).rejects.toThrow(`local: failed to mount device ${path} (fstype: ext3), error mount: `);
    expect((await start(path)).equals(before)).toBe(true);
    expect(await mounts.isMounted(join(base, 'a'))).toBe(false);
  });

  it('gets no file system for who only reads, and none of a type that is no name', async () => {
    const path = await devices.make('', SIZE);
    const before = await start(path);
    await expect(mount(path, 'a', { access: 'read-only' })).rejects.toThrow('cannot mount unformatted disk');
    await expect(mount(path, 'a', { fileSystem: '../ext4' })).rejects.toThrow('it is no type of a file system');
    await expect(mount(path, 'a', { fileSystem: 'nosuch' })).rejects.toThrow('format of disk failed: type:(nosuch)');
    expect((await start(path)).equals(before)).toBe(true);
    await mount(path, 'a');
    await mounts.remove(join(base, 'a'));
    expect(await mount(path, 'b', { access: 'read-only' })).toBe('made');
  });

  it('is checked before the first of its mounts, and not mounted where errors are left', async () => {
    const path = await devices.make('', SIZE);
    const [programs, log] = [join(base, 'bin'), join(base, 'log')];
    await mkdir(programs);
    const fsck = async (exitCode: number) =>
      await writeFile(join(programs, 'fsck'), `#!/bin/sh\necho "$@" >> ${log}\necho broken\nexit ${exitCode}\n`, {
        mode: 0o755,
      });
    await fsck(1);
    vi.stubEnv('PATH', `${programs}:${process.env.PATH ?? ''}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of ['a', 'b']) await mount(path, name);
    for (const name of ['a', 'b']) await mounts.remove(join(base, name));
    expect(await readdir(base)).toEqual(['bin']);
    await mount(path, 'reader', { access: 'read-only' });
    await mounts.remove(join(base, 'reader'));
    for (const name of ['a', 'b']) await mount(path, name);
    expect(await readFile(log, 'utf8')).toBe('-a /proc/self/fd/3\n');
    for (const name of ['a', 'b']) await mounts.remove(join(base, name));
    await fsck(4);
    await expect(mount(path, 'c')).rejects.toThrow(
      "'fsck' found errors on the device but could not correct them: broken",
    );
    expect(await mounts.isMounted(join(base, 'c'))).toBe(false);
  });

  describe('of which a file system is being made', () => {
    let path: string;
    let log: string;
    let gate: string;
    /** This mkfs.ext4 notes that it has started, and continues when the gate is written to. */
    beforeEach(async () => {
      path = await devices.make('', SIZE);
      [log, gate] = [join(base, 'log'), join(base, 'gate')];
      const { stdout } = await run('sh', ['-c', 'command -v mkfs.ext4']);
      const programs = join(base, 'bin');
      await mkdir(programs);
      await run('mkfifo', [gate]);
      const script = `#!/bin/sh\necho begun >> ${log}\ncat ${gate}\nexec ${stdout.trim()} "$@"\n`;
      await writeFile(join(programs, 'mkfs.ext4'), script, { mode: 0o755 });
      await writeFile(log, '');
      vi.stubEnv('PATH', `${programs}:${process.env.PATH ?? ''}`);
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      // If the test has failed before this, the program that waits for the gate still holds the device.
      const opened = await open(gate, constants.O_RDWR | constants.O_NONBLOCK);
      await opened.write('\n');
      await opened.close();
    });
    const begun = async () => (await readFile(log, 'utf8')).split('\n').length - 1;
    const isAwaited = async () => {
      const { ino } = await stat(path);
      return new RegExp(`-> FLOCK .*:${ino} `).test(await readFile('/proc/locks', 'utf8'));
    };

    it('is mounted a second time when it has one', async () => {
      const first = mount(path, 'a');
      await expect.poll(begun).toBe(1);
      const second = mount(path, 'b');
      await expect.poll(async () => (await isAwaited()) || (await begun()) > 1).toBe(true);
      expect(await begun()).toBe(1);
      await writeFile(gate, '');
      expect(await Promise.all([first, second])).toEqual(['made', 'made']);
      expect(await begun()).toBe(1);
    });

    it('is not mounted any more once that was given up', async () => {
      const source = { path, fileSystem: 'ext4', options: [], access: 'read-write' } as const;
      const stop = new AbortController();
      const mounting = mounts.disks.mountDisk(join(base, 'a'), openerOf(path), source, stop.signal);
      const refused = expect(mounting).rejects.toThrow('given up');
      await expect.poll(begun).toBe(1);
      stop.abort(new TypeError('given up'));
      await writeFile(gate, '');
      await refused;
      expect(await mounts.isMounted(join(base, 'a'))).toBe(false);
    });
  });
});

/** Writes an MBR table with one Linux partition at sector 2048. */
async function partition(path: string): Promise<void> {
  const table = Buffer.alloc(512);
  table.set([0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0], 446);
  table.set([0x55, 0xaa], 510);
  await writeFile(path, table, { flag: 'r+' });
}
