import type { EventRecorder } from '@gantry/controller-runtime';
import {
  BIND_COMPLETED,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  SELECTED_NODE,
  STORAGE_CLASSES,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { runCycle } from './scheduler.ts';
import { exampleNode, examplePod } from './testing/examples.ts';
import { followCluster } from './testing/follow-cluster.ts';

async function start() {
  const { stop, clock, client, options } = followCluster();
  const told: string[] = [];
  const events: EventRecorder = { event: (_, _type, reason, message) => told.push(`${reason}: ${message}`) };
  /** Brings the caches up to date and runs cycles until there is nothing more to do. */
  const cycles = async () => {
    for (let i = 0; i < 4; i++) {
      await clock.advance(100);
      await (await runCycle({ ...options, events }, stop.signal)).written;
    }
  };
  const patch = (resource: typeof PERSISTENT_VOLUME_CLAIMS | typeof PERSISTENT_VOLUMES, name: string, merge: object) =>
    client.patch(
      resource,
      { namespace: resource === PERSISTENT_VOLUMES ? '' : 'default', name },
      { merge },
      stop.signal,
    );
  const nodeOf = (name: string) => client.all(PODS).find(({ metadata }) => metadata.name === name)?.spec?.nodeName;
  const selectedOf = (name: string) =>
    client.all(PERSISTENT_VOLUME_CLAIMS).find(({ metadata }) => metadata.name === name)?.metadata.annotations?.[
      SELECTED_NODE
    ];
  const message = () =>
    client.all(PODS)[0]?.status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '';
  await client.put(STORAGE_CLASSES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'late' },
    provisioner: 'example.org/p',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  return { clock, client, cycles, patch, told, nodeOf, selectedOf, message, stop };
}

const claim = (name: string, spec: PersistentVolumeClaim['spec'] = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name },
  spec: {
    storageClassName: 'late',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    ...spec,
  },
});

const volume = (name: string, node: string): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    storageClassName: 'late',
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'host', operator: 'In', values: [node] }] }] },
    },
  },
});

const node = (name: string) => exampleNode(name, { labels: { host: name } });

const podWith = (name: string, ...claims: string[]) =>
  examplePod(name, {
    cpu: '500m',
    spec: {
      volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
  });

describe('a pod with claims', () => {
  it.each([
    ['that do not exist', [], 'persistentvolumeclaim "c" not found'],
    ['that are not bound', [claim('c', { storageClassName: '' })], 'pod has unbound immediate PersistentVolumeClaims'],
    ['that name their volume', [claim('c', { volumeName: 'v' })], 'pod has unbound immediate PersistentVolumeClaims'],
    [
      'that are deleted',
      [
        {
          ...claim('c'),
          metadata: { ...claim('c').metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] },
        },
      ],
      'persistentvolumeclaim "c" is being deleted',
    ],
    [
      'that are lost',
      [{ ...claim('c', { volumeName: 'v' }), status: { phase: 'Lost' } }],
      'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
    ],
  ])('%s waits, with the reason of Kubernetes', async (_, claims, reason) => {
    const { client, cycles, message, told, nodeOf } = await start();
    await client.put(NODES, node('a'));
    for (const one of claims) await client.put(PERSISTENT_VOLUME_CLAIMS, one);
    await client.put(PODS, podWith('p', 'c'));
    await cycles();
    const none = '0/1 nodes are available:';
    expect(message()).toBe(`${none} ${reason}. preemption: ${none} 1 Preemption is not helpful for scheduling.`);
    expect(told).toEqual([`FailedScheduling: ${message()}`]);
    expect(nodeOf('p')).toBeUndefined();
  });

  it('is bound to the node of its volume', async () => {
    const { client, cycles, nodeOf } = await start();
    for (const name of ['a', 'b', 'c']) await client.put(NODES, node(name));
    await client.put(PERSISTENT_VOLUMES, volume('v', 'b'));
    const bound = claim('c', { volumeName: 'v' });
    await client.put(PERSISTENT_VOLUME_CLAIMS, {
      ...bound,
      metadata: { ...bound.metadata, annotations: { [BIND_COMPLETED]: 'yes' } },
    });
    await client.put(PODS, podWith('p', 'c'));
    await cycles();
    expect(nodeOf('p')).toBe('b');
  });

  it('has its node named to the provisioner, keeps its room there, and is bound after its claim', async () => {
    const { clock, client, cycles, patch, nodeOf, selectedOf, told } = await start();
    await client.put(NODES, node('a'));
    await client.put(NODES, exampleNode('b', { cpu: '600m', labels: { host: 'b' } }));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
    const pinned = podWith('p', 'c');
    await client.put(PODS, {
      ...pinned,
      spec: { ...pinned.spec, containers: pinned.spec?.containers ?? [], nodeSelector: { host: 'b' } },
    });
    await cycles();
    expect(selectedOf('c')).toBe('b');
    expect(nodeOf('p')).toBeUndefined();
    // Its room is reserved, so another pod does not fit there in the meantime.
    const other = podWith('q');
    await client.put(PODS, {
      ...other,
      spec: { ...other.spec, containers: other.spec?.containers ?? [], nodeSelector: { host: 'b' } },
    });
    await cycles();
    expect(nodeOf('q')).toBeUndefined();
    await patch(PERSISTENT_VOLUME_CLAIMS, 'c', {
      metadata: { annotations: { [BIND_COMPLETED]: 'yes' } },
      spec: { volumeName: 'v' },
    });
    // The cache shows the claim before its volume.
    await cycles();
    expect(nodeOf('p')).toBeUndefined();
    await client.put(PERSISTENT_VOLUMES, volume('v', 'b'));
    await cycles();
    expect(nodeOf('p')).toBe('b');
    expect(told.filter((one) => one.includes('default/p') || one.includes('non-existent'))).toHaveLength(1);
    await clock.advance(1000);
    expect(told.filter((one) => one.startsWith('Scheduled'))).toEqual([
      'Scheduled: Successfully assigned default/p to b',
    ]);
  });

  it('gets another node when the provisioner gives the first one back', async () => {
    const { client, cycles, patch, selectedOf, stop } = await start();
    await client.put(NODES, node('a'));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
    await client.put(PODS, podWith('p', 'c'));
    await cycles();
    expect(selectedOf('c')).toBe('a');
    await client.put(NODES, node('b'));
    await client.delete(NODES, { namespace: '', name: 'a' }, {}, stop.signal);
    await patch(PERSISTENT_VOLUME_CLAIMS, 'c', { metadata: { annotations: { [SELECTED_NODE]: null } } });
    await cycles();
    expect(selectedOf('c')).toBe('b');
  });

  it('reserves volumes that exist, one for each claim, and all on one node', async () => {
    const { client, cycles } = await start();
    for (const name of ['a', 'b']) await client.put(NODES, node(name));
    await client.patch(
      STORAGE_CLASSES,
      { namespace: '', name: 'late' },
      { merge: { provisioner: 'kubernetes.io/no-provisioner' } },
      new AbortController().signal,
    );
    for (const [name, host] of [
      ['v', 'a'],
      ['w', 'b'],
      ['x', 'b'],
    ] as const) {
      await client.put(PERSISTENT_VOLUMES, { ...volume(name, host), status: { phase: 'Available' } });
    }
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('d'));
    await client.put(PODS, podWith('p', 'c', 'd'));
    await cycles();
    const reserved = client.all(PERSISTENT_VOLUMES).map(({ metadata, spec }) => [metadata.name, spec?.claimRef?.name]);
    expect(reserved).toContainEqual(['v', undefined]);
    expect(reserved.map(([, name]) => name ?? '').sort()).toEqual(['', 'c', 'd']);
  });

  it('goes where another pod of the same claim goes', async () => {
    const { client, cycles, patch, nodeOf, selectedOf } = await start();
    for (const name of ['a', 'b', 'c']) await client.put(NODES, node(name));
    await client.put(PERSISTENT_VOLUME_CLAIMS, claim('c'));
    await client.put(PODS, podWith('p', 'c'));
    await client.put(PODS, podWith('q', 'c'));
    await cycles();
    const selected = selectedOf('c') ?? '';
    await client.put(PERSISTENT_VOLUMES, volume('v', selected));
    await patch(PERSISTENT_VOLUME_CLAIMS, 'c', {
      metadata: { annotations: { [BIND_COMPLETED]: 'yes' } },
      spec: { volumeName: 'v' },
    });
    await cycles();
    expect([nodeOf('p'), nodeOf('q')]).toEqual([selected, selected]);
  });

  it('waits for the end of the only pod that may use a claim', async () => {
    const { clock, client, cycles, nodeOf, stop } = await start();
    await client.put(NODES, node('a'));
    await client.put(PERSISTENT_VOLUMES, volume('v', 'a'));
    const bound = claim('c', { volumeName: 'v', accessModes: ['ReadWriteOncePod'] });
    await client.put(PERSISTENT_VOLUME_CLAIMS, {
      ...bound,
      metadata: { ...bound.metadata, annotations: { [BIND_COMPLETED]: 'yes' } },
    });
    await client.put(PODS, podWith('p', 'c'));
    await cycles();
    await client.put(PODS, podWith('q', 'c'));
    await cycles();
    expect([nodeOf('p'), nodeOf('q')]).toEqual(['a', undefined]);
    await client.delete(PODS, { namespace: 'default', name: 'p' }, {}, stop.signal);
    await clock.advance(2000);
    await cycles();
    expect(nodeOf('q')).toBe('a');
  });
});
