import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxHostFiles } from '../../mounts/linux-host-files.ts';
import { nodeFacts, pod } from '../../testing/pods.ts';
import { hostPathVolume, pathOnHost } from './host-path.ts';
import { ContentBudget } from '../content-budget.ts';
import type { VolumeContext } from './volume-type.ts';

const signal = new AbortController().signal;

describe('a path of the host', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gantry-host-'));
    await mkdir(join(root, 'folder'));
    await writeFile(join(root, 'file'), '');
  });
  afterEach(() => rm(root, { recursive: true }));

  const sync = async (path: string, type?: string) => {
    const context: VolumeContext = {
      pod: pod(),
      podAddress: '',
      facts: nodeFacts(1000),
      source: { configMap: async () => undefined, secret: async () => undefined, trustBundles: async () => [] },
      token: async () => '',
      budget: new ContentBudget(),
    };
    const target = {
      folder: join(root, 'unused'),
      clock: new ManualClock(),
      hostFiles: linuxHostFiles(async () => root),
      mountMemory: () => Promise.reject(new Error('it lies on the host')),
      mountNfs: () => Promise.reject(new Error('it lies on the host')),
    };
    const source = type === undefined ? { path } : { path, type };
    await hostPathVolume.sync({ name: 'v', hostPath: source }, target, context, signal);
  };

  it.each([
    ['/folder', 'Directory'],
    ['/folder', 'DirectoryOrCreate'],
    ['/new/folder', 'DirectoryOrCreate'],
    ['/file', 'File'],
    ['/file', 'FileOrCreate'],
    ['/folder/new', 'FileOrCreate'],
    ['/file', ''],
    ['/new/folder', undefined],
  ])('%s is accepted as %s', async (path, type) => {
    await sync(path, type);
    expect(existsSync(join(root, path))).toBe(true);
    expect(existsSync(join(root, 'unused'))).toBe(false);
  });

  it.each([
    ['/file', 'Directory', 'hostPath type check failed: /file is not a directory'],
    ['/none', 'Directory', 'hostPath type check failed: /none is not a directory'],
    ['/file', 'DirectoryOrCreate', 'hostPath type check failed: /file is not a directory'],
    ['/folder', 'File', 'hostPath type check failed: /folder is not a file'],
    ['/folder', 'FileOrCreate', 'hostPath type check failed: /folder is not a file'],
    ['/none/file', 'FileOrCreate', 'open /none/file: no such file or directory'],
    ['/file', 'Socket', 'hostPath type check failed: /file is not a socket file'],
    ['/file', 'CharDevice', 'hostPath type check failed: /file is not a character device'],
    ['/file', 'BlockDevice', 'hostPath type check failed: /file is not a block device'],
    ['/file', 'Pipe', 'Pipe is an invalid volume type'],
    ['/a/../b', undefined, "invalid HostPath `/a/../b`: must not contain '..'"],
  ])('%s is refused as %s', async (path, type, message) => {
    await expect(sync(path, type)).rejects.toThrow(message);
  });

  it('is absolute, whatever the pod writes', () => {
    expect(pathOnHost({ path: 'var//log/' })).toBe('/var/log/');
  });
});
