import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import {
  LOCAL_PATH,
  localPathOf,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Pod,
} from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@gantry/service';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { pod } from '../testing/pods.ts';
import { PersistentFolders } from './persistent-folders.ts';
import { VolumeReclaimer } from './volume-reclaimer.ts';
import { apiClaimSource } from '../sources/api-config-source.ts';

const released = (changes: Partial<PersistentVolume> = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: {
    name: 'v',
    labels: { 'kubernetes.io/hostname': 'n' },
    annotations: { 'pv.kubernetes.io/provisioned-by': LOCAL_PATH },
  },
  spec: {
    persistentVolumeReclaimPolicy: 'Delete',
    claimRef: { namespace: 'default', name: 'c' },
    local: { path: localPathOf('v') },
  },
  status: { phase: 'Released' },
  ...changes,
});

describe('the volumes of a node', () => {
  let root: string;
  let stop: AbortController;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gantry-reclaim-'));
    stop = new AbortController();
    await mkdir(join(root, 'v'));
    await writeFile(join(root, 'v', 'file'), 'data');
  });
  afterEach(async () => {
    stop.abort();
    await rm(root, { recursive: true });
  });

  const start = () => {
    const clock = new ManualClock();
    const client = new FakeObjectClient(clock);
    const pods: Pod[] = [];
    const folders = new PersistentFolders({
      folder: root,
      node: 'n',
      source: apiClaimSource(client),
      events: { event: () => undefined },
      hostFiles: linuxHostFiles(async () => root),
      disks: hollowMounts().disks,
    });
    const mounts = hollowMounts();
    const reclaimer = new VolumeReclaimer({
      node: 'n',
      client,
      folders,
      mounts,
      pods: { confirm: async () => undefined, list: () => pods },
      events: { event: () => undefined },
      clock,
      random: () => 0.5,
      logger: silentLogger,
    });
    void reclaimer.run(stop.signal);
    const turn = async () => {
      await clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    };
    /** Folders are really removed, so the number of turns is unknown. */
    const until = async (done: () => boolean) => {
      while (!done()) await turn();
    };
    const isThere = (name = 'v') => client.all(PERSISTENT_VOLUMES).some(({ metadata }) => metadata.name === name);
    /**
     * Resolves when all volumes so far have been processed. They are processed one after the other, before a volume that is released now
     * is deleted.
     */
    const lookedAt = async () => {
      const { metadata, spec } = released();
      const claimRef = { namespace: 'default', name: 'of-last' };
      await mkdir(join(root, 'last'));
      await client.put(
        PERSISTENT_VOLUMES,
        released({
          metadata: { ...metadata, name: 'last' },
          spec: { ...spec, claimRef, local: { path: localPathOf('last') } },
        }),
      );
      await until(() => !isThere('last'));
    };
    return { client, pods, folders, until, lookedAt, isThere };
  };

  it('are deleted with their folders when their claims are gone', async () => {
    const { client, until, isThere } = start();
    await client.put(PERSISTENT_VOLUMES, released());
    await until(() => !isThere());
    expect([existsSync(join(root, 'v')), isThere()]).toEqual([false, false]);
  });

  it.each<[string, PersistentVolume]>([
    ['are bound', released({ status: { phase: 'Bound' } })],
    ['are to be retained', released({ spec: { ...released().spec, persistentVolumeReclaimPolicy: 'Retain' } })],
    ['were made by others', released({ metadata: { ...released().metadata, annotations: {} } })],
    [
      'lie on another node',
      released({ metadata: { ...released().metadata, labels: { 'kubernetes.io/hostname': 'm' } } }),
    ],
  ])('stay when they %s', async (_, volume) => {
    const { client, lookedAt, isThere } = start();
    await client.put(PERSISTENT_VOLUMES, volume);
    await lookedAt();
    expect([existsSync(join(root, 'v')), isThere()]).toEqual([true, true]);
  });

  it('stay while containers of a pod run that was deleted by force', async () => {
    const { client, folders, until, lookedAt, isThere } = start();
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace: 'default', name: 'c' },
      spec: { volumeName: 'v' },
    };
    const annotations = { 'pv.kubernetes.io/bind-completed': 'yes' };
    const { metadata } = await client.put(PERSISTENT_VOLUME_CLAIMS, {
      ...claim,
      metadata: { ...claim.metadata, annotations },
      status: { phase: 'Bound' },
    });
    const { spec } = released();
    const claimRef = { namespace: 'default', name: 'c', uid: metadata.uid ?? '' };
    const bound = await client.put(
      PERSISTENT_VOLUMES,
      released({ spec: { ...spec, claimRef }, status: { phase: 'Bound' } }),
    );
    const volume = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };
    await folders.make(pod({ volumes: [volume] }), volume, root, stop.signal);
    await client.updateStatus(PERSISTENT_VOLUMES, { ...bound, status: { phase: 'Released' } }, stop.signal);
    await lookedAt();
    expect(existsSync(join(root, 'v', 'file'))).toBe(true);
    folders.release(pod({}).metadata.uid ?? '');
    await until(() => !isThere());
    expect(existsSync(join(root, 'v'))).toBe(false);
  });

  it('stay while a pod may have them', async () => {
    const { client, pods, until, lookedAt, isThere } = start();
    pods.push(pod({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] }));
    await client.put(PERSISTENT_VOLUMES, released());
    await lookedAt();
    expect(existsSync(join(root, 'v', 'file'))).toBe(true);
    pods.pop();
    await until(() => !isThere());
    expect([existsSync(join(root, 'v')), isThere()]).toEqual([false, false]);
  });
});
