import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BIND_COMPLETED,
  localPathOf,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Volume,
} from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { container, pod, reportedStatus } from '../testing/pods.ts';
import { PersistentFolders } from './persistent-folders.ts';

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
const mounted: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };

/** Two groups that this process may give files to: root's are any, another user's are its own. */
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
    });

  it('is given to the group of the pod', async () => {
    const group = process.getuid?.() === 0 ? 4321 : (process.getgid?.() ?? 0);
    const withGroup = pod({ securityContext: { fsGroup: group } });
    const path = await folders(boundClaim, itsVolume).make(withGroup, mounted, signal);
    const { gid, mode } = await stat(path);
    expect({ gid, mode: mode & 0o7777 }).toEqual({ gid: group, mode: 0o2777 });
  });

  it('stays with the group of the pod that has it, and another pod is told so', async () => {
    const [one, two] = twoGroups();
    const of = (uid: string, fsGroup: number) => pod({ securityContext: { fsGroup } }, {}, { uid });
    const made = folders(boundClaim, itsVolume);
    const path = await made.make(of('uid-1', one), mounted, signal);
    await made.make(of('uid-2', two), mounted, signal);
    expect((await stat(path)).gid).toBe(one);
    expect(events).toEqual([
      `Warning AlreadyMountedVolume The requested fsGroup is ${two}, but the volume v has GID ${one}. The volume may not be shareable.`,
    ]);
    await made.make(of('uid-3', one), mounted, signal);
    expect(events).toHaveLength(1);
    for (const uid of ['uid-1', 'uid-2', 'uid-3']) made.release(uid);
    await made.make(of('uid-2', two), mounted, signal);
    expect((await stat(path)).gid).toBe(two);
  });

  it('keeps its modes for a pod that has run already, and for one that only reads', async () => {
    const path = await folders(boundClaim, itsVolume).make(pod(), mounted, signal);
    await chmod(path, 0o750);
    const file = join(path, 'key');
    await writeFile(file, '', { mode: 0o600 });
    const security = { securityContext: { fsGroup: process.getgid?.() ?? 0 } };
    const containerStatuses = [reportedStatus({ containerID: 'docker://main-0' })];
    await folders(boundClaim, itsVolume).make(pod(security, { containerStatuses }), mounted, signal);
    const readOnly: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } };
    await folders(boundClaim, itsVolume).make(pod(security), readOnly, signal);
    expect([(await stat(path)).mode & 0o7777, (await stat(file)).mode & 0o7777]).toEqual([0o750, 0o600]);
    await folders(boundClaim, itsVolume).make(pod(security), mounted, signal);
    expect((await stat(file)).mode & 0o7777).toBe(0o660);
  });

  it('is made once, for any user, and keeps what is in it', async () => {
    const path = await folders(boundClaim, itsVolume).make(pod(), mounted, signal);
    expect(path).toBe(join(root, 'volumes', 'v'));
    expect((await stat(path)).mode & 0o777).toBe(0o777);
    await writeFile(join(path, 'file'), 'kept');
    expect(await folders(boundClaim, itsVolume).make(pod(), mounted, signal)).toBe(path);
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
    [
      'a block device',
      boundClaim,
      { ...itsVolume, spec: { ...itsVolume.spec, volumeMode: 'Block' } },
      'volumes of mode Block are not supported by this node',
    ],
  ])('is not made for %s', async (_, claim, volume, message) => {
    await expect(folders(claim, volume).make(pod(), mounted, signal)).rejects.toThrow(message);
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
    await expect(folders(boundClaim, volume).make(user, mounted, signal)).rejects.toThrow(new RegExp(`^${message}$`));
    expect(await readdir(root)).toEqual([]);
  });

  it.each([
    '/etc',
    '/',
    '/var/lib/gantry',
    '/var/lib/gantry/volumes',
    '/var/lib/gantry/volumes/..',
    '/var/lib/gantry/volumes/../nodes',
    '/var/lib/gantry/volumes/a/../../x',
    '/var/lib/gantry/volumes/a/b',
    '/var/lib/gantry/volumes-x/a',
    '/a-folder-of-the-host-with-a-long-name',
  ])('is never at %s, and the message does not name it', async (path) => {
    for (const source of [{ local: { path } }, { hostPath: { path } }]) {
      const volume = { ...itsVolume, spec: { claimRef: { uid: 'uid-c' }, ...source } };
      const made = folders(boundClaim, volume).make(pod(), mounted, signal);
      await expect(made).rejects.toThrow('PersistentVolume "v" is not a folder of this node');
    }
    expect(await readdir(root)).toEqual([]);
  });

  it('may be any one of a pod that was not looked at, and is known of one that was', async () => {
    const made = folders(boundClaim, itsVolume);
    expect(made.mayHave('uid-1', 'v')).toBe(true);
    await made.make(pod(), mounted, signal);
    expect([made.mayHave('uid-1', 'v'), made.mayHave('uid-1', 'w')]).toEqual([true, false]);
    made.release('uid-1');
    expect(made.mayHave('uid-1', 'w')).toBe(true);
  });
});
