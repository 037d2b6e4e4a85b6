import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeObjectClient } from '@gantry/client/testing';
import { BIND_COMPLETED, localPathOf } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxMounts } from '../mounts/linux-mounts.ts';
import { TokenSource } from '../sources/token-source.ts';
import type { ClaimSource } from '../spec/claim-source.ts';
import { container, pod } from '../testing/pods.ts';
import { PersistentFolders } from './persistent-folders.ts';
import { PodVolumes } from './pod-volumes.ts';

const signal = new AbortController().signal;

/** Claims that are bound to a volume of their own name. Notes what is read. */
const boundClaims = (reads: string[]): ClaimSource => ({
  claim: async (namespace, name) => {
    reads.push(`claim ${name}`);
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name, uid: name, annotations: { [BIND_COMPLETED]: 'yes' } },
      spec: { volumeName: name },
      status: { phase: 'Bound' },
    };
  },
  volume: async (name) => {
    reads.push(`volume ${name}`);
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { claimRef: { uid: name }, local: { path: localPathOf(name) } },
    };
  },
  node: async () => undefined,
});

describe('the volumes of pods', () => {
  let state: string;
  let volumes: PodVolumes;
  let reads: string[];
  beforeEach(async () => {
    state = await mkdtemp(join(tmpdir(), 'gantry-volumes-'));
    const clock = new ManualClock();
    reads = [];
    volumes = new PodVolumes({
      state: { path: state, hostPath: '/on/the/host' },
      mounts: linuxMounts(),
      source: {
        configMap: async () => undefined,
        secret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { password: 'c2VzYW1l' } }),
      },
      tokens: new TokenSource(new FakeObjectClient(clock), clock),
      persistent: new PersistentFolders({ folder: join(state, 'volumes'), node: 'n', source: boundClaims(reads) }),
      facts: { nodeName: 'n', hostAddress: 'h', cpus: 1, memoryBytes: 2 ** 30 },
      clock,
    });
  });
  afterEach(() => rm(state, { recursive: true }));

  it('write no Secret to the disk where the memory for it is not mounted', async () => {
    await mkdir(join(state, 'memory'));
    const withSecret = pod({ volumes: [{ name: 'keys', secret: { secretName: 'keys' } }] });
    await expect(volumes.sync(withSecret, '', signal)).rejects.toThrow(
      `MountVolume.SetUp failed for volume "keys" : the memory for Secrets is not mounted`,
    );
    expect(await readdir(state, { recursive: true })).toEqual(['memory']);
  });

  it('refuse a medium that they do not have', async () => {
    const huge = pod({ volumes: [{ name: 'huge', emptyDir: { medium: 'HugePages' } }] });
    await expect(volumes.sync(huge, '', signal)).rejects.toThrow('unknown storage medium "HugePages"');
  });

  it.each(['', '.', '..', '../..', 'a/b'])('remove nothing for a pod with the uid %j', async (uid) => {
    await mkdir(join(state, 'pods', 'another'), { recursive: true });
    await expect(volumes.release(uid)).rejects.toThrow('cannot be the name of a folder');
    expect(existsSync(join(state, 'pods', 'another'))).toBe(true);
  });

  it('read the message of a container where its pod is, whatever its labels say', async () => {
    const folder = join(state, 'pods', 'uid-1', 'containers', 'main');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '2'), 'goodbye');
    expect(await volumes.terminationMessage('uid-1', 'main', 2)).toBe('goodbye');
    await expect(async () => volumes.terminationMessage('uid-1', '../../../..', 2)).rejects.toThrow('name of a folder');
  });

  it('are mounted into a container up to a number', async () => {
    const mount = (index: number) => ({ name: 'work', mountPath: `/m/${index}` });
    const crowded = container('main', { volumeMounts: Array.from({ length: 1001 }, (_, index) => mount(index)) });
    await expect(volumes.mounts(pod(), crowded, 0, new Map())).rejects.toThrow('this node mounts at most 1000');
    expect(await readdir(state)).toEqual([]);
  });

  it('are looked up once for a claim, and stay when the pod is released', async () => {
    const withClaim = pod({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] });
    await volumes.sync(withClaim, '', signal);
    await writeFile(join(state, 'volumes', 'c', 'file'), 'kept');
    await volumes.sync(withClaim, '', signal);
    expect(reads).toEqual(['claim c', 'volume c']);
    await volumes.release('uid-1');
    expect(await readdir(join(state, 'volumes', 'c'))).toEqual(['file']);
    await volumes.sync(withClaim, '', signal);
    expect(reads).toHaveLength(4);
  });

  it('make an emptyDir for the group of its pod', async () => {
    const group = process.getuid?.() === 0 ? 4321 : (process.getgid?.() ?? 0);
    await volumes.sync(
      pod({ securityContext: { fsGroup: group }, volumes: [{ name: 'work', emptyDir: {} }] }),
      '',
      signal,
    );
    const { gid, mode } = await stat(join(state, 'pods', 'uid-1', 'volumes', 'work'));
    expect({ gid, mode: mode & 0o7777 }).toEqual({ gid: group, mode: 0o2777 });
  });

  it('leave the mode of an emptyDir to its pod', async () => {
    const withFolder = pod({ volumes: [{ name: 'work', emptyDir: {} }] });
    await volumes.sync(withFolder, '', signal);
    const folder = join(state, 'pods', 'uid-1', 'volumes', 'work');
    expect((await stat(folder)).mode & 0o777).toBe(0o777);
    await chmod(folder, 0o700);
    await volumes.sync(withFolder, '', signal);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, '..'))).toEqual(['work']);
  });
});
