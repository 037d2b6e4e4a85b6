import {
  BOUND_BY_CONTROLLER,
  EVENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  PODS,
  type PodStatus,
  StatusError,
  STORAGE_CLASSES,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createPersistentVolumeController } from './controller.ts';
import { RETRY_MS } from './recycler.shell.ts';

const metrics = createMetrics();
const meters = createMeters(metrics);
const served = async () => (await metrics.render()).text.split('\n');
const { signal } = new AbortController();
const CSI = { driver: 'example.org/p', volumeHandle: 'h' };

const volume = (name: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: '/tmp/data' },
  },
});

const claim = (name: string, storageClassName?: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'a' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    ...(storageClassName === undefined ? {} : { storageClassName }),
  },
});

const pod = (name: string, claimName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'a' },
  spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] },
});

function harness() {
  const made = createControllerHarness();
  const phases = () =>
    [...made.client.all(PERSISTENT_VOLUMES), ...made.client.all(PERSISTENT_VOLUME_CLAIMS)].map(
      ({ metadata, status }) => `${metadata.name} ${status?.phase}`,
    );
  return { ...made, phases };
}

describe('the persistent volume controller', () => {
  it('binds waiting claims as volumes appear, one to each', async () => {
    const { clock, client, run, phases } = harness();
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('y'));
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    await client.put(PERSISTENT_VOLUMES, volume('v'));
    await clock.advance(1000);
    expect(phases()).toEqual(['v Bound', 'x Bound', 'y Pending']);
    await client.put(PERSISTENT_VOLUMES, volume('w'));
    await clock.advance(1000);
    expect(phases()).toEqual(['v Bound', 'w Bound', 'x Bound', 'y Bound']);
    expect((await served()).filter((line) => /^pv_collector/.test(line))).toEqual([
      'pv_collector_total_pv_count{plugin_name="kubernetes.io/host-path",volume_mode="Filesystem"} 2',
      'pv_collector_bound_pv_count{storage_class=""} 2',
      'pv_collector_bound_pvc_count{namespace="a",storage_class="",volume_attributes_class=""} 2',
    ]);
    const owners = client.all(PERSISTENT_VOLUMES).map(({ spec }) => spec?.claimRef?.name);
    expect([...owners].sort()).toEqual(['x', 'y']);
  });

  it('chooses another volume when one is taken while it binds', async () => {
    const { clock, client, run, phases } = harness();
    await client.put(PERSISTENT_VOLUMES, volume('v'));
    await client.put(PERSISTENT_VOLUMES, volume('w'));
    let taken = '';
    run([createPersistentVolumeController(meters.volumes)], {
      meanwhile: async (write) => {
        if (write.verb !== 'update' || write.resource !== PERSISTENT_VOLUMES || write.subresource !== undefined) return;
        if (taken !== '') return;
        taken = write.key.name;
        const claimRef = { namespace: 'b', name: 'other' };
        await client.patch(
          PERSISTENT_VOLUMES,
          write.key,
          { merge: { spec: { claimRef } } },
          new AbortController().signal,
        );
      },
    });
    await clock.advance(1000);
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    await clock.advance(5000);
    expect(phases()).toContain('x Bound');
    const [bound] = client.all(PERSISTENT_VOLUME_CLAIMS);
    expect(['v', 'w']).toContain(taken);
    expect(bound?.spec?.volumeName).toBe(taken === 'v' ? 'w' : 'v');
  });

  it('releases a volume when its claim is deleted, and does not bind it again', async () => {
    const { clock, client, stop, run, phases } = harness();
    await client.put(PERSISTENT_VOLUMES, volume('v'));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'a', name: 'x' }, {}, stop.signal);
    await clock.advance(1000);
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    await clock.advance(1000);
    expect(phases()).toEqual(['v Released', 'x Pending']);
  });

  it('asks the store for the claim before it releases a volume', async () => {
    const { clock, client, run, phases } = harness();
    const written: unknown[] = [];
    const bound = volume('v');
    // The claim is the fourth object to be created, after the volume, the leader's Lease and its Event.
    const uid = 'uid-4';
    await client.put(PERSISTENT_VOLUMES, {
      ...bound,
      spec: { ...bound.spec, claimRef: { namespace: 'a', name: 'x', uid } },
    });
    run([createPersistentVolumeController(meters.volumes)], {
      // When the controller reads the claim, it exists but is not in the cache yet.
      reach: async (_signal, { verb, resource }) => {
        if (verb !== 'get' || resource !== PERSISTENT_VOLUME_CLAIMS.resource) return;
        const made = claim('x');
        const { metadata } = await client.put(PERSISTENT_VOLUME_CLAIMS, {
          ...made,
          spec: { ...made.spec, volumeName: 'v' },
        });
        expect(metadata.uid).toBe(uid);
      },
      meanwhile: async (write) => {
        if (write.verb === 'update') written.push((write.object as PersistentVolume).status?.phase);
      },
    });
    await clock.advance(1000);
    expect(phases()).toEqual(['v Bound', 'x Bound']);
    expect(written).not.toContain('Released');
  });

  it('names the pod that a claim waits for, and binds a claim of a class that appears later', async () => {
    const { clock, client, run, events } = harness();
    run([createPersistentVolumeController(meters.volumes)]);
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x', 'late'));
    await clock.advance(1000);
    const reasons = () => events('PersistentVolumeClaim').map(({ reason, message }) => `${reason}: ${message}`);
    expect(reasons()).toEqual(['ProvisioningFailed: storageclass.storage.k8s.io "late" not found']);
    await client.put(STORAGE_CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'late' },
      provisioner: 'example.org/p',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await clock.advance(1000);
    await client.put(PODS, pod('p', 'x'));
    await clock.advance(1000);
    expect(reasons().slice(1)).toEqual([
      'WaitForFirstConsumer: waiting for first consumer to be created before binding',
      'WaitForPodScheduled: waiting for pod p to be scheduled',
    ]);
  });

  it('says again and again why a claim waits, for as long as it does', async () => {
    const { clock, client, run, events } = harness();
    run([createPersistentVolumeController(meters.volumes)]);
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    await clock.advance(60_000);
    const seen = () => events('PersistentVolumeClaim').map(({ reason, lastTimestamp }) => [reason, lastTimestamp]);
    const [[, first] = []] = seen();
    await clock.advance(45 * 60_000);
    expect(seen()).toEqual([['FailedBinding', expect.not.stringMatching(first ?? '')]]);
    const [, second] = seen()[0] ?? [];
    await client.put(PERSISTENT_VOLUMES, volume('v'));
    await clock.advance(3_600_000);
    expect(seen()).toEqual([['FailedBinding', second]]);
  });

  it('measures how long it takes to provision and to delete a volume, and counts failed attempts', async () => {
    const { clock, client, run } = harness();
    const operations = createMetrics('part');
    const provisioner = 'example.org/p';
    await client.put(STORAGE_CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'ext' },
      provisioner,
      volumeBindingMode: 'Immediate',
    });
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x', 'ext'));
    run([createPersistentVolumeController(createMeters(operations).volumes)]);
    await clock.advance(20_000);
    client.failNext(
      ({ verb, resource }) => verb === 'update' && resource === PERSISTENT_VOLUME_CLAIMS,
      StatusError.unavailable('away'),
    );
    const { hostPath: _, ...spec } = volume('v').spec ?? {};
    await client.put(PERSISTENT_VOLUMES, {
      ...volume('v'),
      metadata: { name: 'v', annotations: { 'pv.kubernetes.io/provisioned-by': provisioner } },
      spec: { ...spec, storageClassName: 'ext', persistentVolumeReclaimPolicy: 'Delete', csi: CSI },
    });
    await clock.advance(5000);
    await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'a', name: 'x' }, {}, signal);
    await clock.advance(7000);
    await client.delete(PERSISTENT_VOLUMES, { namespace: '', name: 'v' }, {}, signal);
    await clock.advance(1000);
    const shown = (await operations.render()).text.split('\n').filter((line) => line.startsWith('volume_operation'));
    const labels = (name: string) => `plugin_name="${provisioner}",operation_name="${name}"`;
    const bucket = (le: number, name: string) => `volume_operation_total_seconds_bucket{le="${le}",${labels(name)}}`;
    expect(shown).toEqual(
      expect.arrayContaining([
        `${bucket(15, 'provision')} 0`,
        `${bucket(25, 'provision')} 1`,
        `${bucket(5, 'delete')} 0`,
        `${bucket(10, 'delete')} 1`,
        `volume_operation_errors_total{${labels('provision')}} 1`,
        `volume_operation_total_errors{${labels('provision')}} 1`,
      ]),
    );
    expect(shown.filter((line) => line.includes('_count'))).toHaveLength(2);
  });

  it('writes nothing when nothing changes', async () => {
    const { clock, client, run } = harness();
    await client.put(PERSISTENT_VOLUMES, volume('v'));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('x'));
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    const versions = () => client.all(PERSISTENT_VOLUMES).map(({ metadata }) => metadata.resourceVersion);
    const before = versions();
    await client.put(PODS, pod('p', 'x'));
    await clock.advance(60_000);
    expect(versions()).toEqual(before);
  });
});

describe('the recycling of a volume', () => {
  const recycled = (): PersistentVolume => {
    const made = volume('v');
    const claimRef = { namespace: 'a', name: 'gone', uid: 'u' };
    const spec = { ...made.spec, claimRef, persistentVolumeReclaimPolicy: 'Recycle' };
    return { ...made, metadata: { name: 'v', annotations: { [BOUND_BY_CONTROLLER]: 'yes' } }, spec };
  };
  const key = { namespace: 'default', name: 'recycler-for-v' };
  const end = async ({ client }: Pick<ControllerHarness, 'client'>, status: PodStatus) => {
    const pod = await client.get(PODS, key, signal);
    await client.updateStatus(PODS, { ...pod, status }, signal);
  };

  it('empties it by a pod in `default`, reports the Events of the pod, and makes it available again', async () => {
    const { clock, client, run, phases, events } = harness();
    await client.put(PERSISTENT_VOLUMES, recycled());
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    const [created] = client.all(PODS);
    expect(created?.metadata).toMatchObject(key);
    expect(created?.spec).toMatchObject({
      activeDeadlineSeconds: 60,
      restartPolicy: 'Never',
      volumes: [{ name: 'vol', hostPath: { path: '/tmp/data' } }],
    });
    expect(phases()).toEqual(['v Released']);
    await client.put(EVENTS, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: 'pulling' },
      involvedObject: { kind: 'Pod', namespace: 'default', name: key.name, uid: created?.metadata.uid ?? '' },
      type: 'Normal',
      message: 'Pulling image',
    });
    await end({ client }, { phase: 'Succeeded' });
    await clock.advance(1000);
    expect(phases()).toEqual(['v Available']);
    expect(client.all(PERSISTENT_VOLUMES)[0]?.spec?.claimRef).toBeUndefined();
    expect(client.all(PODS)).toEqual([]);
    expect(events('PersistentVolume').map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      'RecyclerPod Recycler pod: Pulling image',
      'VolumeRecycled Volume recycled',
    ]);
  });

  it('tries again after a pod that failed, and not at once', async () => {
    const { clock, client, run, phases } = harness();
    await client.put(PERSISTENT_VOLUMES, recycled());
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    await end({ client }, { phase: 'Failed', message: 'no such folder' });
    await clock.advance(1000);
    expect(phases()).toEqual(['v Failed']);
    expect(client.all(PERSISTENT_VOLUMES)[0]?.status?.message).toBe(
      'Recycle failed: failed to recycle volume: no such folder',
    );
    expect(client.all(PODS)).toEqual([]);
    await clock.advance(RETRY_MS);
    await end({ client }, { phase: 'Succeeded' });
    await clock.advance(1000);
    expect(phases()).toEqual(['v Available']);
  });

  it('does not take the word of a pod that a user created', async () => {
    const { clock, client, run, phases } = harness();
    await client.put(PERSISTENT_VOLUMES, recycled());
    const spec = { containers: [] };
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: key, spec, status: { phase: 'Succeeded' } });
    run([createPersistentVolumeController(meters.volumes)]);
    await clock.advance(1000);
    expect(phases()).toEqual(['v Failed']);
    expect(client.all(PODS)).toEqual([]);
    await clock.advance(RETRY_MS);
    expect(client.all(PODS)).toHaveLength(1);
    expect(phases()).toEqual(['v Failed']);
  });
});
