import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { FakeObjectClient } from '@gantry/client/testing';
import { BIND_COMPLETED, type Container, localPathOf, type Volume, type VolumeMount } from '@gantry/objects';
import { must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { linuxMounts } from '../mounts/linux-mounts.ts';
import type { HostMounts, NetworkMounts, DiskMounts } from '../runtime/host-mounts.ts';
import { TokenSource } from '../sources/token-source.ts';
import { container, ENGINE, nodeFacts, pod, RESOLVER } from '../testing/pods.ts';
import { PersistentFolders } from './persistent-folders.ts';
import { PodVolumes, type PodVolumesOptions } from './pod-volumes.ts';
import type { ClaimSource } from '../spec/config-source.ts';

const signal = new AbortController().signal;

/** Returns claims that are bound to a volume of their own name with the path from `pathOf`. Notes the reads. */
const boundClaims = (reads: string[], pathOf: (name: string) => string = localPathOf): ClaimSource => ({
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
      spec: { claimRef: { uid: name }, local: { path: pathOf(name) } },
    };
  },
  node: async () => undefined,
});

describe('the volumes of pods', () => {
  let state: string;
  let options: PodVolumesOptions;
  let volumes: PodVolumes;
  let reads: string[];
  beforeEach(async () => {
    state = await mkdtemp(join(tmpdir(), 'gantry-volumes-'));
    const clock = new ManualClock();
    reads = [];
    options = {
      state: { path: state, hostPath: '/on/the/host' },
      mounts: linuxMounts(),
      hostFiles: linuxHostFiles(async () => state),
      engine: ENGINE,
      source: {
        configMap: async () => undefined,
        trustBundles: async () => [],
        secret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { password: 'c2VzYW1l' } }),
      },
      tokens: new TokenSource(new FakeObjectClient(clock), clock),
      persistent: new PersistentFolders({
        folder: join(state, 'volumes'),
        node: 'n',
        source: boundClaims(reads),
        events: { event: () => undefined },
        hostFiles: linuxHostFiles(async () => state),
        disks: linuxMounts().disks,
      }),
      facts: nodeFacts(1000),
      resolver: RESOLVER,
      clock,
    };
    volumes = new PodVolumes(options);
  });
  afterEach(() => rm(state, { recursive: true }));

  it.each([
    ['its own resolv.conf', {}, ['read-write']],
    [
      'it read-only with a root file system that is',
      { securityContext: { readOnlyRootFilesystem: true } },
      ['read-only'],
    ],
    ['none where it mounts another', { volumeMounts: [{ name: 'v', mountPath: '/etc/resolv.conf' }] }, ['read-write']],
  ])('give a container %s', async (what, change, access) => {
    const mounts = {
      ...linuxMounts(),
      bind: (opened: readonly unknown[]) => Promise.resolve(opened.map((_, i) => `${i}`)),
    };
    const own = new PodVolumes({ ...options, mounts });
    const spec = { volumes: [{ name: 'v', emptyDir: {} }] };
    await own.sync(pod(spec), '', signal);
    const prepared = await own.mounts(pod(spec), container('main', change), 0, new Map(), '', signal);
    const found = prepared.mounts.filter(({ containerPath }) => containerPath === '/etc/resolv.conf');
    expect(found.map((mount) => mount.access)).toEqual(access);
    const file = join(state, 'pods', 'uid-1', 'resolv.conf');
    expect(existsSync(file)).toBe(!what.startsWith('none'));
    const engines = pod({ ...spec, dnsPolicy: 'Default' });
    const without = await own.mounts(engines, container(), 0, new Map(), '', signal);
    expect(without.mounts.map(({ containerPath }) => containerPath)).toEqual(['/etc/hostname', '/dev/termination-log']);
  });

  it('give each container the hostname of its pod and its hosts, which a new address changes, unless it mounts its own', async () => {
    const bind = (opened: readonly unknown[]) => Promise.resolve(opened.map((_, i) => `${i}`));
    const own = new PodVolumes({ ...options, mounts: { ...linuxMounts(), bind } });
    const pathsAt = async (address: string, change: Partial<Container> = {}) => {
      const object = pod({ volumes: [{ name: 'v', emptyDir: {} }], dnsPolicy: 'Default' });
      await own.sync(object, address, signal);
      const prepared = await own.mounts(object, container('main', change), 0, new Map(), address, signal);
      return prepared.mounts.map(({ containerPath }) => containerPath);
    };
    const hosts = () => readFile(join(state, 'pods', 'uid-1', 'etc-hosts'), 'utf8');
    expect(await pathsAt('10.0.0.9')).toEqual(['/etc/hosts', '/etc/hostname', '/dev/termination-log']);
    expect(await hosts()).toContain('\n10.0.0.9\tweb\n');
    expect(await readFile(join(state, 'pods', 'uid-1', 'etc-hostname'), 'utf8')).toBe('web\n');
    await pathsAt('10.0.0.8');
    expect(await hosts()).toContain('\n10.0.0.8\tweb\n');
    const mounted = { volumeMounts: [{ name: 'v', mountPath: '/etc/hosts' }] };
    expect(await pathsAt('10.0.0.7', mounted)).toEqual(['/etc/hosts', '/etc/hostname', '/dev/termination-log']);
    expect(await hosts()).toContain('\n10.0.0.8\tweb\n');
  });

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

  describe('that are block devices', () => {
    const device = (readOnly: boolean): Volume => ({
      name: 'data',
      persistentVolumeClaim: { claimName: 'c', ...(readOnly ? { readOnly } : {}) },
    });
    const inContainer = (change: Partial<Container>) => container('looker', change);
    const at = (devicePath: string) => inContainer({ volumeDevices: [{ name: 'data', devicePath }] });
    /** There is a block device at /dev/disk, and nothing anywhere else. */
    const withDisk = (path: string, volumeMode: 'Block' | 'Filesystem' = 'Block', disks = options.mounts.disks) => {
      const kindOf = async (found: string) => (found === '/dev/disk' ? ('block-device' as const) : undefined);
      const hostFiles = { ...options.hostFiles, kindOf };
      const claims = boundClaims(reads, () => path);
      const volume: ClaimSource['volume'] = async (name, abort) => {
        const found = must(await claims.volume(name, abort), 'a volume');
        return { ...found, spec: { ...found.spec, volumeMode } };
      };
      const persistent = new PersistentFolders({
        folder: join(state, 'volumes'),
        node: 'n',
        source: { ...claims, volume },
        events: { event: () => undefined },
        hostFiles,
        disks,
      });
      return new PodVolumes({ ...options, persistent, hostFiles });
    };
    const prepare = async (user: Container, readOnly = false, own = withDisk('/dev/disk')) => {
      const object = pod({ volumes: [device(readOnly)], containers: [container('main')], dnsPolicy: 'Default' });
      await own.sync(object, '', signal);
      return await own.mounts(object, user, 0, new Map(), '', signal);
    };

    it.each([
      [false, 'read-write'],
      [true, 'read-only'],
    ])('are given to the containers that name them: read-only %s', async (readOnly, access) => {
      const { devices, mounts } = await prepare(at('/dev/given'), readOnly);
      expect(devices).toEqual([{ hostPath: '/dev/disk', containerPath: '/dev/given', access }]);
      expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/etc/hostname', '/dev/termination-log']);
      expect((await prepare(inContainer({}))).devices).toEqual([]);
    });

    it('are refused at a path that is not absolute', async () => {
      await expect(prepare(at('given'))).rejects.toMatchObject({
        code: 'CreateContainerConfigError',
        message: 'error DevicePath `given` must be an absolute path',
      });
    });

    // An ephemeral container is added after the volumes of its pod have been checked.
    it.each<[string, Partial<Container>, () => PodVolumes, string]>([
      [
        'a file system',
        { volumeDevices: [{ name: 'data', devicePath: '/d' }] },
        () => withDisk(localPathOf('c'), 'Filesystem'),
        'pass',
      ],
      ['a volume that is not there', { volumeDevices: [{ name: 'data', devicePath: '/d' }] }, () => volumes, 'pass'],
      ['a device', { volumeMounts: [{ name: 'data', mountPath: '/d' }] }, () => withDisk('/dev/disk'), 'mount'],
    ])('are not taken for what they are not: %s', async (what, change, make, verb) => {
      const own = make();
      const prepared = what.includes('not there')
        ? own.mounts(pod(), inContainer(change), 0, new Map(), '', signal)
        : prepare(inContainer(change), false, own);
      await expect(prepared).rejects.toMatchObject({
        code: 'CreateContainerConfigError',
        message: `cannot find volume "data" to ${verb} into container "looker"`,
      });
    });

    it('and have files are mounted in the folder of their pod at each sync, and go with it', async () => {
      const asked: string[] = [];
      const mountDisk: DiskMounts['mountDisk'] = async (folder) => {
        asked.push(relative(state, folder));
        await mkdir(folder, { recursive: true });
        return 'kept';
      };
      await mkdir(join(state, 'dev'));
      await writeFile(join(state, 'dev', 'disk'), '');
      const own = withDisk('/dev/disk', 'Filesystem', { mountDisk });
      const user = inContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] });
      for (const readOnly of [false, true]) {
        const { mounts, devices } = await prepare(user, readOnly, own);
        const access = readOnly ? 'read-only' : 'read-write';
        const hostPath = '/on/the/host/pods/uid-1/volumes/data';
        expect(mounts[0]).toEqual({ hostPath, containerPath: '/data', access, propagation: 'none' });
        expect(devices).toEqual([]);
      }
      expect(asked).toEqual(['pods/uid-1/volumes/data', 'pods/uid-1/volumes/data']);
      await own.release('uid-1');
      expect(existsSync(join(state, 'pods', 'uid-1'))).toBe(false);
    });

    it('are looked at before the containers of a pod start', async () => {
      await expect(prepare(at('/dev/given'), false, withDisk('/dev/none'))).rejects.toMatchObject({
        code: 'FailedMapVolume',
        message: 'MapVolume.MapBlockVolume failed for volume "data" : lstat /dev/none: no such file or directory',
      });
    });
  });

  it('are mounted into a container up to a number', async () => {
    const mount = (index: number) => ({ name: 'work', mountPath: `/m/${index}` });
    const crowded = container('main', { volumeMounts: Array.from({ length: 1001 }, (_, index) => mount(index)) });
    await expect(volumes.mounts(pod(), crowded, 0, new Map(), '', signal)).rejects.toThrow(
      'this node mounts at most 1000',
    );
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

  it('and files are mounted by their own paths, which only the agent can change, and parts of volumes by bound ones', async () => {
    const calls: string[] = [];
    const mounts: HostMounts = {
      ...linuxMounts(),
      bind: async (opened, folder) => {
        calls.push('bind');
        return opened.map((_, index) => join(folder, String(index)));
      },
      detach: async (folder) => void calls.push(`detach ${relative(state, folder)}`),
    };
    const own = new PodVolumes({ ...options, mounts });
    const pathsOf = async (volumeMounts: VolumeMount[]) => {
      const withFolder = pod({ volumes: [{ name: 'work', emptyDir: {} }], dnsPolicy: 'Default' });
      await own.sync(withFolder, '', signal);
      await using prepared = await own.mounts(withFolder, container('b', { volumeMounts }), 0, new Map(), '', signal);
      return prepared.mounts.map(({ hostPath }) => hostPath);
    };
    const folder = '/on/the/host/pods/uid-1';
    const files = [`${folder}/etc-hostname`, `${folder}/containers/b/0`];
    expect(await pathsOf([{ name: 'work', mountPath: '/m' }])).toEqual([`${folder}/volumes/work`, ...files]);
    expect(calls).toEqual([]);
    expect(
      await pathsOf([
        { name: 'work', mountPath: '/part', subPath: 'part' },
        { name: 'work', mountPath: '/m' },
      ]),
    ).toEqual(['/on/the/host/binds/uid-1/b-0/0', `${folder}/volumes/work`, ...files]);
    expect(calls).toEqual(['detach binds/uid-1/b-0', 'bind', 'detach binds/uid-1/b-0']);
  });

  describe('on the host', () => {
    let srv: string;
    let opened: { readonly ino: number; readonly namespace: string; readonly propagation: string }[];
    let own: PodVolumes;
    beforeEach(async () => {
      srv = join(state, 'srv', 'c');
      await mkdir(srv, { recursive: true });
      await chmod(srv, 0o2770);
      opened = [];
      const hostFiles = linuxHostFiles(async () => state);
      const persistent = new PersistentFolders({
        folder: join(state, 'volumes'),
        node: 'n',
        source: boundClaims(reads, (name) => `/srv/${name}`),
        events: { event: () => undefined },
        hostFiles,
        disks: options.mounts.disks,
      });
      const bind: HostMounts['bind'] = async (sources) => {
        opened = await Promise.all(
          sources.map(async ({ opened: each, propagation }) => {
            const { ino } = await each.stat();
            return { ino, namespace: each.namespace, propagation };
          }),
        );
        return sources.map((_, index) => join(state, `${index}`));
      };
      own = new PodVolumes({ ...options, hostFiles, persistent, mounts: { ...linuxMounts(), bind } });
    });
    const CLAIM: Partial<Volume> = { persistentVolumeClaim: { claimName: 'c', readOnly: true } };
    const HOST_PATH: Partial<Volume> = { hostPath: { path: '/srv/c' } };
    const mountOf = async (source: Partial<Volume>, change: Partial<VolumeMount>) => {
      const withHost = pod({ volumes: [{ name: 'data', ...source }], dnsPolicy: 'Default' });
      await own.sync(withHost, '', signal);
      const main = container('main', { volumeMounts: [{ name: 'data', mountPath: '/data', ...change }] });
      const prepared = await own.mounts(withHost, main, 0, new Map([['WHO', 'mine']]), '', signal);
      return prepared.mounts[0];
    };

    it.each([
      ['a path', HOST_PATH, 'read-write'],
      ["an administrator's volume", CLAIM, 'read-only'],
    ])('give the engine %s as a whole by its name there', async (_, source, access) => {
      const whole = { containerPath: '/data', hostPath: '/srv/c', access, propagation: 'none' };
      expect(await mountOf(source, {})).toEqual(whole);
      expect(opened).toEqual([]);
      await own.release('uid-1');
      expect(await readdir(join(state, 'srv'))).toEqual(['c']);
    });

    it.each([
      ['a path', HOST_PATH, 'read-write'],
      ["an administrator's volume", CLAIM, 'read-only'],
    ])('give the engine a part of %s bound, by what was opened on the host', async (_, source, access) => {
      await writeFile(join(srv, 'file'), '');
      const part = { containerPath: '/data', hostPath: '/on/the/host/0', access, propagation: 'none' };
      expect(await mountOf(source, { subPath: 'file' })).toEqual(part);
      expect(opened[0]).toEqual({ ino: (await stat(join(srv, 'file'))).ino, namespace: 'host', propagation: 'none' });
      expect(await mountOf(source, { subPathExpr: 'new/$(WHO)' })).toEqual(part);
      const made = await stat(join(srv, 'new', 'mine'));
      expect(opened[0]).toEqual({ ino: made.ino, namespace: 'host', propagation: 'none' });
      // The mode is the volume's mode, as in kubelet: for everyone who may use the volume.
      expect(made.mode & 0o7777).toBe(0o2770);
    });

    it('let a part see what the host mounts in it, where that is asked for, and refuse the other way round', async () => {
      const part = { subPath: 'part', mountPropagation: 'HostToContainer' };
      expect(await mountOf(HOST_PATH, part)).toMatchObject({ propagation: 'from-host' });
      expect(opened[0]).toMatchObject({ namespace: 'host', propagation: 'from-host' });
      await expect(mountOf(HOST_PATH, { ...part, mountPropagation: 'Bidirectional' })).rejects.toMatchObject({
        code: 'CreateContainerConfigError',
        message: expect.stringContaining('has a subPath and the mountPropagation Bidirectional'),
      });
    });

    it.each([
      ['a path', HOST_PATH],
      ["an administrator's volume", CLAIM],
    ])('refuse a part of %s that a link leads out of it', async (_, source) => {
      await writeFile(join(state, 'srv', 'other'), '');
      await symlink('/srv', join(srv, 'root'));
      await symlink('../other', join(srv, 'up'));
      for (const subPath of ['root/other', 'root', 'up', 'root/new', '../other', '/srv']) {
        await expect(mountOf(source, { subPath }), subPath).rejects.toMatchObject({
          code: 'CreateContainerConfigError',
        });
      }
      const message = 'failed to prepare subPath for volumeMount "data" of container "main"';
      await expect(mountOf(source, { subPath: 'up' })).rejects.toThrow(message);
      expect((await readdir(join(state, 'srv'))).toSorted()).toEqual(['c', 'other']);
    });
  });

  it.each<[string, Partial<Volume>]>([
    ['of the pod', { nfs: { server: 's', path: '/x', readOnly: true } }],
    ['of a claim', { persistentVolumeClaim: { claimName: 'c', readOnly: true } }],
  ])(
    'mount an NFS volume %s in the folder of the pod, unbound and not opened, and a part of it by the open path',
    async (_, source) => {
      const nfs = { server: 's', path: '/x' };
      const claims = boundClaims(reads);
      const persistent = new PersistentFolders({
        folder: join(state, 'volumes'),
        node: 'n',
        source: {
          ...claims,
          volume: async (name) => ({
            apiVersion: 'v1',
            kind: 'PersistentVolume',
            metadata: { name },
            spec: { claimRef: { uid: name }, nfs },
          }),
        },
        events: { event: () => undefined },
        hostFiles: options.hostFiles,
        disks: options.mounts.disks,
      });
      const calls: unknown[] = [];
      const network: NetworkMounts = {
        mountNfs: async (folder, { server, path, access }) => {
          calls.push([relative(state, folder), server, path, access]);
          await mkdir(folder, { recursive: true });
          return 'made';
        },
        checkAnswers: async (folder) => void calls.push(relative(state, folder)),
      };
      const bind = (opened: readonly unknown[]) => Promise.resolve(opened.map((_, index) => join(state, `${index}`)));
      const own = new PodVolumes({ ...options, persistent, mounts: { ...linuxMounts(), network, bind } });
      const withNfs = pod({ volumes: [{ name: 'data', ...source }], dnsPolicy: 'Default' });
      await own.sync(withNfs, '', signal);
      const folder = 'pods/uid-1/volumes/data';
      expect(calls).toEqual([[folder, 's', '/x', 'read-only']]);
      const mountOf = async (subPath: string) => {
        const main = container('main', { volumeMounts: [{ name: 'data', mountPath: '/data', subPath }] });
        return (await own.mounts(withNfs, main, 0, new Map(), '', signal)).mounts[0];
      };
      expect(await mountOf('')).toMatchObject({ hostPath: `/on/the/host/${folder}`, access: 'read-only' });
      expect(await mountOf('part')).toMatchObject({ hostPath: '/on/the/host/0' });
      expect(calls.slice(1)).toEqual([folder, folder]);
      await own.release('uid-1');
      expect(existsSync(join(state, folder))).toBe(false);
    },
  );

  it('take what they have bound away without waiting for what is bound, which may be on a server that hangs', async () => {
    const calls: string[] = [];
    const note = (what: string) => async (folder: string) => void calls.push(`${what} ${relative(state, folder)}`);
    const mounts: HostMounts = {
      ...hollowMounts(),
      bind: async (opened, folder) => opened.map((_, index) => join(folder, `${index}`)),
      detach: note('detach'),
      remove: note('remove'),
    };
    const own = new PodVolumes({ ...options, mounts });
    await own.prepare();
    expect(calls.splice(0)).toEqual(['detach binds']);
    const withFolder = pod({ volumes: [{ name: 'work', emptyDir: {} }] });
    await own.sync(withFolder, '', signal);
    const main = container('main', { volumeMounts: [{ name: 'work', mountPath: '/m', subPath: 'part' }] });
    const bound = await own.mounts(withFolder, main, 0, new Map(), '', signal);
    await bound[Symbol.asyncDispose]();
    expect(calls.splice(0)).toEqual(['detach binds/uid-1/main-0', 'detach binds/uid-1/main-0']);
    await own.release('uid-1');
    expect(calls).toEqual(['detach binds/uid-1', 'remove memory/uid-1', 'remove pods/uid-1']);
  });

  it('have texts of files in emptyDirs alone: another volume may be on a server that does not answer', async () => {
    const own = pod({
      volumes: [
        { name: 'work', emptyDir: {} },
        { name: 'far', nfs: { server: 's', path: '/x' } },
      ],
    });
    for (const name of ['work', 'far']) {
      const folder = join(state, 'pods', 'uid-1', 'volumes', name);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'env'), "A='1'");
    }
    for (const path of ['env', '/env']) expect(await volumes.text(own, 'work', path)).toBe("A='1'");
    expect(await volumes.text(own, 'far', 'env')).toBeUndefined();
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

  describe('of Secrets', () => {
    const MIB = 2 ** 20;
    const secret = async () => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {},
      data: { key: Buffer.alloc(MIB).toString('base64') },
    });
    const manyTimes = (count: number) => ({
      name: 'keys',
      projected: {
        sources: Array.from({ length: count }, (_, i) => ({
          secret: { name: 's', items: [{ key: 'key', path: `${i}` }] },
        })),
      },
    });
    /** A node whose Secrets have 64 MiB, of which pods with much share 16. */
    const startAgent = async () => {
      const source = { ...options.source, secret };
      const facts = nodeFacts(1000, { hostMemoryBytes: 2 ** 30 });
      const own = new PodVolumes({ ...options, source, facts, mounts: hollowMounts() });
      await own.prepare();
      return own;
    };
    const sync = (own: PodVolumes, uid: string, count: number, main: Partial<Container> = {}) =>
      own.sync(pod({ volumes: [manyTimes(count)], containers: [container('main', main)] }, {}, { uid }), '', signal);

    it('leave room for those of other pods, whatever a pod asks for', async () => {
      const own = await startAgent();
      await expect(sync(own, 'a', 530)).rejects.toMatchObject({
        code: 'FailedMount',
        message: expect.stringContaining('volume "keys" : the node has no room for 17825792 bytes of Secrets'),
      });
      await sync(own, 'b', 10);
      await expect(sync(own, 'c', 10)).rejects.toThrow('no room for 7340032 bytes');
      await own.sync(pod({ volumes: [{ name: 'keys', downwardAPI: {} }] }, {}, { uid: 'd' }), '', signal);
      expect(await readdir(join(state, 'memory'))).toEqual(['b', 'd']);
      // A new agent counts what is there.
      const next = await startAgent();
      await expect(sync(next, 'c', 10)).rejects.toThrow('no room');
      await sync(next, 'b', 10);
      await next.release('b');
      await sync(next, 'c', 10);
    });

    it('are no larger than the memory of their pod', async () => {
      const limited = { resources: { limits: { memory: '4Mi' } } };
      const own = await startAgent();
      await expect(sync(own, 'a', 5, limited)).rejects.toThrow(
        "take 5242880 bytes or more; the limit is 4194304 (the memory limit of its pod's containers)",
      );
      await sync(own, 'a', 4, limited);
    });
  });

  it('make an emptyDir in memory with the mode that the kernel gives such a folder', async () => {
    const asked: string[] = [];
    const mountMemory = async (folder: string, _sizeBytes: number, mode: number) => {
      asked.push(`${relative(state, folder)} ${mode.toString(8)}`);
      return 'made' as const;
    };
    const mounted = new PodVolumes({ ...options, mounts: { ...options.mounts, mountMemory } });
    await mounted.sync(pod({ volumes: [{ name: 'work', emptyDir: { medium: 'Memory' } }] }), '', signal);
    expect(asked).toEqual(['pods/uid-1/volumes/work 1777']);
  });

  it.each([
    ['the node has', {}, {}, 2 ** 30],
    ['its limit says', { sizeLimit: '1Mi' }, {}, 2 ** 20],
    ['its pod may use', { sizeLimit: '4Mi' }, { resources: { limits: { memory: '2Mi' } } }, 2 ** 21],
    ['the node has, though its limit says more', { sizeLimit: '2Gi' }, {}, 2 ** 30],
  ])('make an emptyDir in memory no larger than %s', async (_what, limit, limits, expected) => {
    const sizes: number[] = [];
    const mountMemory = async (_folder: string, size: number) => {
      sizes.push(size);
      return 'made' as const;
    };
    const mounted = new PodVolumes({ ...options, mounts: { ...options.mounts, mountMemory } });
    const volume = { name: 'work', emptyDir: { medium: 'Memory', ...limit } };
    await mounted.sync(pod({ volumes: [volume], containers: [container('main', limits)] }), '', signal);
    expect(sizes).toEqual([expected]);
  });

  it('make an emptyDir in memory with a size also on a node with nothing to give: 0 would be no limit', async () => {
    const sizes: number[] = [];
    const mountMemory = async (_folder: string, size: number) => {
      sizes.push(size);
      return 'made' as const;
    };
    const none = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };
    const facts = nodeFacts(1000, { allocatable: () => none });
    const mounted = new PodVolumes({ ...options, facts, mounts: { ...options.mounts, mountMemory } });
    for (const limit of [{}, { sizeLimit: '1Mi' }]) {
      await mounted.sync(pod({ volumes: [{ name: 'work', emptyDir: { medium: 'Memory', ...limit } }] }), '', signal);
    }
    expect(sizes).toEqual([2 ** 31, 2 ** 20]);
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
