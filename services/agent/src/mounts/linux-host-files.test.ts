import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostFiles } from '../runtime/host-files.ts';
import { linuxHostFiles } from './linux-host-files.ts';

const { signal } = new AbortController();

describe('the files of the host', () => {
  let base: string;
  let root: string;
  let files: HostFiles;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-host-'));
    root = join(base, 'root');
    await mkdir(join(root, 'run/deep'), { recursive: true });
    await mkdir(join(root, 'var'));
    await writeFile(join(root, 'run/file'), 'of the host');
    await writeFile(join(base, 'outside'), 'of the agent');
    await symlink('/run', join(root, 'var/run'));
    files = linuxHostFiles(async () => root);
  });
  afterEach(() => rm(base, { recursive: true }));

  it('are of the kind that they are, through links as the host resolves them', async () => {
    expect(await files.kindOf('/')).toBe('folder');
    expect(await files.kindOf('/run/file')).toBe('file');
    expect(await files.kindOf('/var/run/file')).toBe('file');
    expect(await files.kindOf('/var/run/../run/deep')).toBe('folder');
    expect(await files.kindOf('/nowhere/at/all')).toBeUndefined();
    execFileSync('mkfifo', [join(root, 'fifo')]);
    expect(await files.kindOf('/fifo')).toBe('other');
    expect(await linuxHostFiles(async () => '/').kindOf('/dev/null')).toBe('character-device');
    const server = createServer().listen(join(root, 'socket'));
    try {
      await new Promise((resolve) => server.once('listening', resolve));
      expect(await files.kindOf('/socket')).toBe('socket');
    } finally {
      server.close();
    }
  });

  it('never are those of the agent, where a link leads above the root', async () => {
    await symlink('../../../../../../../../../outside', join(root, 'climbing'));
    expect(await files.kindOf('/climbing')).toBeUndefined();
    expect(await files.kindOf('/../outside')).toBeUndefined();
    await symlink(join(base, 'outside'), join(root, 'absolute'));
    expect(await files.kindOf('/absolute')).toBeUndefined();
  });

  it('are made with the modes of kubelet, and kept where they exist', async () => {
    await files.makeFolder('/var/run/made/deeper');
    expect(statSync(join(root, 'run/made/deeper')).mode & 0o7777).toBe(0o755);
    await files.makeFolder('/run/deep');
    await files.makeFile('/var/run/deep/new');
    expect(statSync(join(root, 'run/deep/new')).mode & 0o7777).toBe(0o644);
    await files.makeFile('/run/file');
    expect(readFileSync(join(root, 'run/file'), 'utf8')).toBe('of the host');
    expect(readdirSync(base).sort()).toEqual(['outside', 'root']);
  });

  it('are opened as the host resolves their path, to be bound in its namespace', async () => {
    await using opened = await files.open('/var/run/file');
    expect(opened).toMatchObject({ kind: 'file', namespace: 'host' });
    expect((await opened?.stat())?.ino).toBe(statSync(join(root, 'run/file')).ino);
    expect(await files.open('/nowhere')).toBeUndefined();
    const unreachable = linuxHostFiles(async () => join(base, 'none'));
    await expect(unreachable.open('/run')).rejects.toMatchObject({ code: 'FailedMount' });
  });

  it('of a folder are counted together, without what links name', async () => {
    await writeFile(join(root, 'run/log'), Buffer.alloc(100_000));
    await symlink('log', join(root, 'run/again'));
    const { bytes, inodes } = await files.usageOf('/var/run', signal);
    expect(bytes).toBeGreaterThanOrEqual(100_000);
    expect(bytes).toBeLessThan(200_000);
    const found = execFileSync('find', [join(root, 'run'), '-printf', '.'], { encoding: 'utf8' });
    expect(inodes).toBe(found.length);
  });

  it('are refused where a folder is missing, or is a file', async () => {
    await expect(files.makeFile('/none/file')).rejects.toThrow('open /none/file: no such file or directory');
    await expect(files.makeFolder('/run/file/folder')).rejects.toThrow('leads through a file');
    expect(await files.usageOf('/none', signal)).toEqual({ bytes: 0, inodes: 0 });
  });
});
