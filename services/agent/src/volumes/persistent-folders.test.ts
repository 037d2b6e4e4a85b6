import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BIND_COMPLETED,
  localPathOf,
  MOUNT_OPTIONS_ANNOTATION,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeSpec,
  type Volume,
} from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { container, pod, reportedStatus } from '../testing/pods.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import type { HostFileKind, HostFiles } from '../runtime/host-files.ts';
import { PersistentFolders, type VolumePlace } from './persistent-folders.ts';
import type { DiskMounts, DiskSource } from '../runtime/host-mounts.ts';

const signal = new AbortController().signal;
const node: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', labels: { 'kubernetes.io/hostname': 'n' } },
};
const affinity = (host: string) => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [host] }] }],
  },
});
const boundClaim: PersistentVolumeClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name: 'c', uid: 'uid-c', annotations: { [BIND_COMPLETED]: 'yes' } },
  spec: { volumeName: 'v' },
  status: { phase: 'Bound' },
};
const itsVolume: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'v' },
  spec: { claimRef: { uid: 'uid-c' }, local: { path: localPathOf('v') }, nodeAffinity: affinity('n') },
};
/** The place where a disk would be mounted. */
const POD_FOLDER = '/nonexistent/pod';
const DISKS: DiskMounts = { mountDisk: () => Promise.reject(new TypeError('it is no disk')) };
const mounted: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };

/** Returns the claim's volume, with another kind or place, for any node. */
const volumeAt = (source: Partial<PersistentVolumeSpec>): PersistentVolume => ({
  ...itsVolume,
  spec: { claimRef: { uid: 'uid-c' }, ...source },
});

function pathOf(place: VolumePlace): string {
  return 'path' in place ? place.path : '';
}

/** Returns two groups to which this process may give files. Root may use any groups, another user only its own. */
function twoGroups(): readonly [number, number] {
  const own = process.getgid?.() ?? 0;
  if (process.getuid?.() === 0) return [4321, 4322];
  return [own, process.getgroups?.().find((group) => group !== own) ?? own];
}

describe('the folder of a persistent volume', () => {
  let root: string;
  let events: string[] = [];
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gantry-persistent-'));
    events = [];
  });
  afterEach(() => rm(root, { recursive: true }));

  const folders = (claim: PersistentVolumeClaim | undefined, volume: PersistentVolume | undefined) =>
    new PersistentFolders({
      folder: join(root, 'volumes'),
      node: 'n',
      source: { claim: async () => claim, volume: async () => volume, node: async () => node },
      events: { event: (_pod, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
      hostFiles: linuxHostFiles(async () => join(root, 'host')),
      disks: DISKS,
    });

  it('is given to the group of the pod', async () => {
    const group = process.getuid?.() === 0 ? 4321 : (process.getgid?.() ?? 0);
    const withGroup = pod({ securityContext: { fsGroup: group } });
    const path = pathOf(await folders(boundClaim, itsVolume).make(withGroup, mounted, POD_FOLDER, signal));
    const { gid, mode } = await stat(path);
    expect({ gid, mode: mode & 0o7777 }).toEqual({ gid: group, mode: 0o2777 });
  });

  it('stays with the group of the pod that has it, and another pod is told so', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const made = folders(boundClaim, itsVolume);
    const path = pathOf(await made.make(of('uid-1', one), mounted, POD_FOLDER, signal));
    await made.make(of('uid-2', two), mounted, POD_FOLDER, signal);
    expect((await stat(path)).gid).toBe(one);
    expect(events).toEqual([
      `Warning AlreadyMountedVolume The requested fsGroup is ${two}, but the volume v has GID ${one}. The volume may not be shareable.`,
    ]);
    await made.make(of('uid-3', one), mounted, POD_FOLDER, signal);
    expect(events).toHaveLength(1);
    for (const uid of ['uid-1', 'uid-2', 'uid-3']) made.release(uid);
    await made.make(of('uid-2', two), mounted, POD_FOLDER, signal);
    expect((await stat(path)).gid).toBe(two);
  });

  it('is given to another group when the containers of the pods that have it have ended', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const made = folders(boundClaim, itsVolume);
    const path = pathOf(await made.make(of('uid-1', one), mounted, POD_FOLDER, signal));
    made.end('uid-1');
    await made.make(of('uid-2', two), mounted, POD_FOLDER, signal);
    expect((await stat(path)).gid).toBe(two);
    expect(events).toEqual([]);
    made.release('uid-2');
    // The ended pod may have been deleted by force, so its containers may still exist.
    expect(made.isHeld('v')).toBe(true);
  });

  it('keeps its modes for a pod that has run already, and for one that only reads', async () => {
    const path = pathOf(await folders(boundClaim, itsVolume).make(pod(), mounted, POD_FOLDER, signal));
    await chmod(path, 0o750);
    const file = join(path, 'key');
    await writeFile(file, '', { mode: 0o600 });
    const security = { securityContext: { fsGroup: process.getgid?.() ?? 0 } };
    const containerStatuses = [reportedStatus({ containerID: 'docker://main-0' })];
    await folders(boundClaim, itsVolume).make(pod(security, { containerStatuses }), mounted, POD_FOLDER, signal);
    const readOnly: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } };
    await folders(boundClaim, itsVolume).make(pod(security), readOnly, POD_FOLDER, signal);
    expect([(await stat(path)).mode & 0o7777, (await stat(file)).mode & 0o7777]).toEqual([0o750, 0o600]);
    await folders(boundClaim, itsVolume).make(pod(security), mounted, POD_FOLDER, signal);
    expect((await stat(file)).mode & 0o7777).toBe(0o660);
  });

  it('is made once, for any user, and keeps what is in it', async () => {
    const path = pathOf(await folders(boundClaim, itsVolume).make(pod(), mounted, POD_FOLDER, signal));
    expect(path).toBe(join(root, 'volumes', 'v'));
    expect((await stat(path)).mode & 0o777).toBe(0o777);
    await writeFile(join(path, 'file'), 'kept');
    expect(await folders(boundClaim, itsVolume).make(pod(), mounted, POD_FOLDER, signal)).toMatchObject({
      kind: 'agent',
      path,
    });
    expect(await readdir(path)).toEqual(['file']);
  });

  it.each<[string, PersistentVolumeClaim | undefined, PersistentVolume | undefined, string]>([
    [
      'a missing claim',
      undefined,
      itsVolume,
      'error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found',
    ],
    [
      'a claim that is not bound',
      { ...boundClaim, status: { phase: 'Pending' } },
      itsVolume,
      'error processing PVC default/c: PVC is not bound',
    ],
    [
      'a claim whose binding is not complete',
      { ...boundClaim, metadata: { ...boundClaim.metadata, annotations: {} } },
      itsVolume,
      'PVC is not bound',
    ],
    [
      'a claim that is deleted',
      { ...boundClaim, metadata: { ...boundClaim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
      itsVolume,
      'PVC is being deleted',
    ],
    [
      'a missing volume',
      boundClaim,
      undefined,
      'failed to fetch PV v from API server: persistentvolumes "v" not found',
    ],
    [
      'a volume of another claim',
      boundClaim,
      { ...itsVolume, spec: { ...itsVolume.spec, claimRef: { uid: 'other' } } },
      'does not point to PVC UID uid-c',
    ],
    [
      'a volume of another node',
      boundClaim,
      { ...itsVolume, spec: { ...itsVolume.spec, nodeAffinity: affinity('m') } },
      'no matching NodeSelectorTerms',
    ],
  ])('is not made for %s', async (_, claim, volume, message) => {
    await expect(folders(claim, volume).make(pod(), mounted, POD_FOLDER, signal)).rejects.toThrow(message);
    expect(await readdir(root)).toEqual([]);
  });

  it.each([
    ['containers', 'Filesystem', 'volumeDevices'],
    ['initContainers', undefined, 'volumeDevices'],
    ['ephemeralContainers', 'Block', 'volumeMounts'],
  ] as const)('is not made where %s use a volume of mode %s in %s', async (list, volumeMode, field) => {
    const uses = {
      volumeDevices: [{ name: 'data', devicePath: '/dev/x' }],
      volumeMounts: [{ name: 'data', mountPath: '/x' }],
    };
    const user = pod({ containers: [container('main')], [list]: [{ ...container('user'), [field]: uses[field] }] });
    const volume = { ...itsVolume, spec: { ...itsVolume.spec, ...(volumeMode === undefined ? {} : { volumeMode }) } };
    const message = `volume data has volumeMode ${volumeMode ?? 'Filesystem'}, but is specified in ${field}`;
    await expect(folders(boundClaim, volume).make(user, mounted, POD_FOLDER, signal)).rejects.toThrow(
      new RegExp(`^${message}$`),
    );
    expect(await readdir(root)).toEqual([]);
  });

  it.each([
    '/var/lib/gantry/volumes',
    '/var/lib//gantry/volumes/v',
    '/var/lib/gantry/volumes/..',
    '/var/lib/gantry/volumes/../nodes',
    '/var/lib/gantry/volumes/a/../../x',
    '/var/lib/gantry/volumes/a/b',
  ])('is never at %s, and the message does not name it', async (path) => {
    for (const source of [{ local: { path } }, { hostPath: { path } }]) {
      const made = folders(boundClaim, volumeAt(source)).make(pod(), mounted, POD_FOLDER, signal);
      await expect(made).rejects.toThrow('PersistentVolume "v" is not a folder of this node: in the folder of its');
    }
    expect(await readdir(root)).toEqual([]);
  });

  it('may be any one of a pod that was not looked at, and is known of one that was', async () => {
    const made = folders(boundClaim, itsVolume);
    expect(made.mayHave('uid-1', 'v')).toBe(true);
    await made.make(pod(), mounted, POD_FOLDER, signal);
    expect([made.mayHave('uid-1', 'v'), made.mayHave('uid-1', 'w')]).toEqual([true, false]);
    made.release('uid-1');
    expect(made.mayHave('uid-1', 'w')).toBe(true);
  });
});

describe('a volume at a path of the host', () => {
  let root: string;
  const events: string[] = [];
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gantry-host-volume-'));
    await mkdir(join(root, 'mnt', 'data'), { recursive: true, mode: 0o755 });
    await writeFile(join(root, 'mnt', 'file'), '');
    events.length = 0;
  });
  afterEach(() => rm(root, { recursive: true }));

  const folders = (source: Partial<PersistentVolumeSpec>) => of(volumeAt(source));
  const of = (volume: PersistentVolume) =>
    new PersistentFolders({
      folder: join(root, 'volumes'),
      node: 'n',
      source: { claim: async () => boundClaim, volume: async () => volume, node: async () => node },
      events: { event: (_pod, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
      hostFiles: linuxHostFiles(async () => root),
      disks: DISKS,
    });
  const make = (source: Partial<PersistentVolumeSpec>) => folders(source).make(pod(), mounted, POD_FOLDER, signal);

  it.each<[string, Partial<PersistentVolumeSpec>, string]>([
    ['a hostPath', { hostPath: { path: '/mnt/data' } }, '/mnt/data'],
    ['a hostPath of a type', { hostPath: { path: '/mnt/data', type: 'Directory' } }, '/mnt/data'],
    ['a hostPath that is made', { hostPath: { path: '/mnt/new', type: 'DirectoryOrCreate' } }, '/mnt/new'],
    ['a hostPath without a type, which is made', { hostPath: { path: '/mnt/new', type: '' } }, '/mnt/new'],
    [
      'a hostPath as long as one of a folder',
      { hostPath: { path: '/a-folder-of-the-host-that-is-long' } },
      '/a-folder-of-the-host-that-is-long',
    ],
    ['a local volume', { local: { path: '/mnt/data' } }, '/mnt/data'],
    [
      'a volume whose nodes include this one',
      { local: { path: '/mnt/data' }, nodeAffinity: affinity('n') },
      '/mnt/data',
    ],
  ])('is that of %s', async (_, source, path) => {
    expect(await make(source)).toMatchObject({ kind: 'host', path });
    expect((await stat(join(root, path))).mode & 0o777).toBe(0o755);
    expect(await readdir(root)).not.toContain('volumes');
  });

  it.each<[string, Partial<PersistentVolumeSpec>, string]>([
    ['a file as a folder', { hostPath: { path: '/mnt/file', type: 'Directory' } }, '/mnt/file is not a directory'],
    ['a path that goes back', { hostPath: { path: '/mnt/../etc' } }, "must not contain '..'"],
    ['a local volume that is missing', { local: { path: '/mnt/none' } }, 'path "/mnt/none" does not exist'],
    ['a local file', { local: { path: '/mnt/file' } }, 'only directory and block device are supported'],
    [
      'a local path that goes back',
      { local: { path: '/mnt/../mnt' } },
      "invalid path: /mnt/../mnt must not contain '..'",
    ],
    ['another node', { hostPath: { path: '/mnt/new' }, nodeAffinity: affinity('m') }, 'no matching NodeSelectorTerms'],
    ['another kind', { fc: { lun: 1 } }, 'PersistentVolume "v" is of a kind that this node does not support'],
  ])('is refused for %s', async (_, source, message) => {
    await expect(make(source)).rejects.toThrow(message);
    expect(await readdir(join(root, 'mnt'))).toEqual(['data', 'file']);
  });

  it.each<[string, PersistentVolume, boolean | undefined, object]>([
    ['as it is', volumeAt({ nfs: { server: 's', path: '/x' } }), undefined, { options: [], access: 'read-write' }],
    [
      'with its options',
      volumeAt({ nfs: { server: 's', path: '/x' }, mountOptions: ['nfsvers=4.1', 'hard'] }),
      undefined,
      { options: ['nfsvers=4.1', 'hard'], access: 'read-write' },
    ],
    [
      'with those of the old annotation',
      {
        ...volumeAt({ nfs: { server: 's', path: '/x' }, mountOptions: ['hard'] }),
        metadata: { name: 'v', annotations: { [MOUNT_OPTIONS_ANNOTATION]: 'soft,,ro' } },
      },
      undefined,
      { options: ['soft', 'ro'], access: 'read-write' },
    ],
    ['of a claim that only reads', volumeAt({ nfs: { server: 's', path: '/x' } }), true, { access: 'read-only' }],
    [
      'that is read-only',
      volumeAt({ nfs: { server: 's', path: '/x', readOnly: true } }),
      false,
      { access: 'read-only' },
    ],
  ])('is mounted from its server: one %s', async (_, volume, readOnly, wanted) => {
    const claimed: Volume = {
      name: 'data',
      persistentVolumeClaim: { claimName: 'c', ...(readOnly === undefined ? {} : { readOnly }) },
    };
    const own = of(volume);
    // It is not given to the group, because the server decides about that.
    const withGroup = pod({ securityContext: { fsGroup: 4321 } });
    const place = await own.make(withGroup, claimed, POD_FOLDER, signal);
    expect(place).toMatchObject({ kind: 'nfs', source: { server: 's', path: '/x', ...wanted } });
  });

  it.each(['hostPath', 'local'])('is refused with mount options for %s', async (kind) => {
    const made = make({ [kind]: { path: '/mnt/data' }, mountOptions: ['noatime'] });
    await expect(made).rejects.toThrow('Mount options are not supported for this volume type');
  });

  it('has the files of a local volume given to the group of the pod, not those of a hostPath', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const path = join(root, 'mnt', 'data');
    await writeFile(join(path, 'key'), '', { mode: 0o600 });
    await folders({ hostPath: { path: '/mnt/data' } }).make(of('uid-1', one), mounted, POD_FOLDER, signal);
    expect((await stat(path)).mode & 0o7777).toBe(0o755);
    const local = folders({ local: { path: '/mnt/data' } });
    await local.make(of('uid-1', one), mounted, POD_FOLDER, signal);
    const { gid, mode } = await stat(join(path, 'key'));
    expect([gid, mode & 0o7777, (await stat(path)).mode & 0o7777]).toEqual([one, 0o660, 0o2775]);
    await local.make(of('uid-2', two), mounted, POD_FOLDER, signal);
    expect((await stat(path)).gid).toBe(one);
    expect(events).toEqual([
      `Warning AlreadyMountedVolume The requested fsGroup is ${two}, but the volume v has GID ${one}. The volume may not be shareable.`,
    ]);
  });
});

describe('a volume of mode Block', () => {
  const inVolumes = localPathOf('v');
  const hostFiles: HostFiles = {
    ...linuxHostFiles(() => Promise.reject(new Error('the disk is not asked'))),
    kindOf: async (path) => ({ '/dev/disk': 'block-device', '/mnt': 'folder', '/file': 'file' })[path] as HostFileKind,
  };
  const make = (source: Partial<PersistentVolumeSpec>, fsGroup?: number) =>
    new PersistentFolders({
      folder: '/nonexistent',
      node: 'n',
      source: {
        claim: async () => boundClaim,
        volume: async () => volumeAt({ volumeMode: 'Block', ...source }),
        node: async () => node,
      },
      events: { event: () => undefined },
      hostFiles,
      disks: DISKS,
    }).make(pod(fsGroup === undefined ? {} : { securityContext: { fsGroup } }), mounted, POD_FOLDER, signal);

  it.each([undefined, 4321])('is the device at its path, which is given to no group: %s', async (fsGroup) => {
    const place = await make({ local: { path: '/dev/disk' } }, fsGroup);
    expect(place).toMatchObject({ kind: 'device', path: '/dev/disk' });
  });

  it('has no files that mount options would be for', async () => {
    expect(await make({ local: { path: '/dev/disk' }, mountOptions: ['noatime'] })).toMatchObject({ kind: 'device' });
  });

  it.each<[string, Partial<PersistentVolumeSpec>, string]>([
    ['a folder', { local: { path: '/mnt' } }, '/mnt is not a block device'],
    ['a file', { local: { path: '/file' } }, '/file is not a block device'],
    ['what is missing', { local: { path: '/none' } }, 'lstat /none: no such file or directory'],
    [
      'a path that goes back',
      { local: { path: '/mnt/../dev/disk' } },
      "invalid path: /mnt/../dev/disk must not contain '..'",
    ],
    [
      "a folder of the node's volumes",
      { local: { path: inVolumes } },
      'PersistentVolume "v" is not a block device: what this node makes in the folder of its volumes is folders',
    ],
    [
      'a hostPath',
      { hostPath: { path: '/dev/disk' } },
      'PersistentVolume "v" is of a kind that has no block devices on this node: only local has',
    ],
    [
      'a server',
      { nfs: { server: 's', path: '/x' } },
      'PersistentVolume "v" is of a kind that has no block devices on this node: only local has',
    ],
  ])('is refused for %s', async (_, source, message) => {
    await expect(make(source)).rejects.toMatchObject({ code: 'FailedMapVolume', message });
  });
});

describe('a local volume of files on a block device', () => {
  let root: string;
  let asked: { readonly folder: string; readonly source: DiskSource }[];
  let events: string[];
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gantry-disk-'));
    await mkdir(join(root, 'dev'));
    await writeFile(join(root, 'dev', 'disk'), '');
    [asked, events] = [[], []];
  });
  afterEach(() => rm(root, { recursive: true }));

  const ofDisk = (change: Partial<PersistentVolumeSpec> = {}) => {
    const volume = volumeAt({ local: { path: '/dev/disk' }, ...change });
    const files = linuxHostFiles(async () => root);
    return new PersistentFolders({
      folder: join(root, 'volumes'),
      node: 'n',
      source: { claim: async () => boundClaim, volume: async () => volume, node: async () => node },
      events: { event: (_pod, type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
      hostFiles: {
        ...files,
        kindOf: async (path) => (path === '/dev/disk' ? 'block-device' : await files.kindOf(path)),
      },
      disks: {
        mountDisk: async (folder, open, source) => {
          await using opened = await open();
          expect((await opened.stat()).ino).toBe((await stat(join(root, 'dev', 'disk'))).ino);
          asked.push({ folder, source });
          await mkdir(folder);
          return 'made';
        },
      },
    });
  };
  const folderOf = (uid: string) => join(root, uid);

  it.each<[string, Partial<PersistentVolumeSpec>, boolean, Partial<DiskSource>]>([
    ['as ext4, writable', {}, false, { fileSystem: 'ext4', options: [], access: 'read-write' }],
    ['as ext4, of an empty type', { local: { path: '/dev/disk', fsType: '' } }, false, { fileSystem: 'ext4' }],
    ['as what it says', { local: { path: '/dev/disk', fsType: 'xfs' } }, false, { fileSystem: 'xfs' }],
    ['with its options', { mountOptions: ['noatime'] }, false, { options: ['noatime'] }],
    ['for a claim that only reads', {}, true, { access: 'read-only' }],
    ['read-only by its options', { mountOptions: ['noatime,ro'] }, false, { access: 'read-only' }],
  ])('is mounted in the folder of its pod %s', async (_, change, readOnly, wanted) => {
    const claimed: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly } };
    expect(await ofDisk(change).make(pod(), claimed, folderOf('a'), signal)).toMatchObject({ kind: 'disk' });
    expect(asked).toMatchObject([{ folder: folderOf('a'), source: { path: '/dev/disk', ...wanted } }]);
  });

  it('is given to the group of the first pod, by the folder where it is mounted', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const disk = ofDisk();
    await disk.make(of('uid-1', one), mounted, folderOf('uid-1'), signal);
    await disk.make(of('uid-2', two), mounted, folderOf('uid-2'), signal);
    const groups = await Promise.all(['uid-1', 'uid-2'].map(async (uid) => (await stat(folderOf(uid))).gid));
    expect(groups).toEqual([one, process.getgid?.()]);
    expect(events).toEqual([expect.stringContaining(`The requested fsGroup is ${two}, but the volume v has GID`)]);
  });

  it('is given to the group of a pod though another one, which could not mount it, has not been released', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const disk = ofDisk();
    const failed = disk.make(of('uid-1', one), mounted, join(root, 'missing', 'uid-1'), signal);
    await expect(failed).rejects.toThrow('ENOENT');
    await disk.make(of('uid-2', two), mounted, folderOf('uid-2'), signal);
    expect((await stat(folderOf('uid-2'))).gid).toBe(two);
    expect(events).toEqual([]);
  });
});
