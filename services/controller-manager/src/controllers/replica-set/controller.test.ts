import { formatTime } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import {
  cloneJson,
  controllerOf,
  controllerReference,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
  REPLICATION_CONTROLLERS,
  type ReplicationController,
  StatusError,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { podSetMeter } from '../../metrics/workloads.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { collectingMs, createReplicaSetController, createReplicationController } from './controller.ts';

const meter = podSetMeter(createMetrics());
const replicaSetController = createReplicaSetController(meter);
const replicationController = createReplicationController(meter);

const labels = { app: 'a' };
const replicaSet = (replicas: number): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set', namespace: 'n' },
  spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [] } } },
});
const barePod = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'n', labels },
  spec: { containers: [] },
});

it('takes a pod whose name another pod has by now for gone, not for one that could not be deleted', async () => {
  const { clock, client, stop, events, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(0));
  const key = { namespace: 'n', name: 'p' };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: key, spec: { containers: [] } };
  await client.put(PODS, { ...pod, metadata: { ...key, labels, ownerReferences: [controllerReference(set)] } });
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.delete(PODS, key, {}, stop.signal);
    await client.put(PODS, pod);
  };
  run([replicaSetController], { meanwhile });
  await clock.advance(1000);
  expect(acted).toBe('yes');
  expect(client.all(PODS)).toHaveLength(1);
  expect(events('ReplicaSet')).toEqual([]);
  const written = client.writes.flatMap((write) =>
    write.verb === 'update' && write.resource.resource === 'replicasets' ? [(write.object as ReplicaSet).status] : [],
  );
  expect(written.flatMap((status) => status?.conditions ?? [])).toEqual([]);
});

it('deletes a pod again whose deletion was rejected by a conflict, while it is the same pod', async () => {
  const { clock, client, events, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(0));
  const metadata = { name: 'p', namespace: 'n', labels, ownerReferences: [controllerReference(set)] };
  await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } });
  client.failNext(
    ({ verb, resource }) => verb === 'delete' && resource.resource === 'pods',
    StatusError.conflict(PODS, 'p'),
  );
  run([replicaSetController]);
  await clock.advance(1000);
  expect(client.all(PODS)).toEqual([]);
  expect(events('ReplicaSet').map(({ reason }) => reason)).toEqual(['FailedDelete', 'SuccessfulDelete']);
});

it('says in the status why pods could not be deleted', async () => {
  const { clock, client, events, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(0));
  const metadata = { name: 'p', namespace: 'n', labels, ownerReferences: [controllerReference(set)] };
  await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } });
  const meanwhile = async ({ verb, resource }: ObjectWrite) => {
    if (verb === 'delete' && resource.resource === 'pods') throw new StatusError('Forbidden', 'no');
  };
  run([replicaSetController], { meanwhile });
  await clock.advance(5);
  expect(client.all(REPLICA_SETS)[0]?.status?.conditions).toMatchObject([
    { type: 'ReplicaFailure', reason: 'FailedDelete', message: 'unable to delete pods: no' },
  ]);
  expect(events('ReplicaSet')).toMatchObject([{ reason: 'FailedDelete', message: 'Error deleting: no' }]);
});

it('does not count pods of another namespace that name it as their controller', async () => {
  const { clock, client, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(2));
  for (const name of ['a', 'b', 'c']) {
    const metadata = { name, namespace: 'foreign', labels, ownerReferences: [controllerReference(set)] };
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } });
  }
  run([replicaSetController]);
  await clock.advance(1000);
  const names = (namespace: string) => client.all(PODS).filter((pod) => pod.metadata.namespace === namespace);
  expect(names('n'), 'made beside them').toHaveLength(2);
  expect(names('foreign'), 'neither deleted nor released').toHaveLength(3);
  expect(client.all(REPLICA_SETS)[0]?.status?.replicas).toBe(2);
});

it('does not adopt for a set whose deletion its cache does not show yet', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(1));
  await client.put(PODS, barePod('orphan'));
  let asked: 'no' | 'yes' = 'no';
  const reach = async (_: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
    if (verb !== 'get' || resource !== 'replicasets' || asked === 'yes') return;
    asked = 'yes';
    const metadata = {
      ...set.metadata,
      deletionTimestamp: formatTime(clock.now()),
      finalizers: ['foregroundDeletion'],
    };
    await client.update(REPLICA_SETS, { ...set, metadata }, stop.signal);
  };
  run([replicaSetController], { reach });
  await clock.advance(1000);
  expect(asked).toBe('yes');
  expect(client.all(PODS).map(controllerOf)).toEqual([undefined]);
});

it('reports a failure in the status and an Event, tries again, and takes it back', async () => {
  const { clock, client, events, run } = createControllerHarness();
  await client.put(REPLICA_SETS, replicaSet(3));
  let refuse: 'yes' | 'no' = 'yes';
  const meanwhile = async ({ verb, resource }: ObjectWrite) => {
    if (verb === 'create' && resource.resource === 'pods' && refuse === 'yes') throw new StatusError('Forbidden', 'no');
  };
  run([replicaSetController], { meanwhile });
  await clock.advance(5);
  const failed = client.all(REPLICA_SETS)[0]?.status;
  expect(failed?.conditions).toMatchObject([{ type: 'ReplicaFailure', reason: 'FailedCreate', message: 'no' }]);
  expect(events('ReplicaSet')).toMatchObject([
    { type: 'Warning', reason: 'FailedCreate', message: 'Error creating: no' },
  ]);
  refuse = 'no';
  await clock.advance(60_000);
  expect(client.all(PODS)).toHaveLength(3);
  expect(client.all(REPLICA_SETS)[0]?.status).toMatchObject({ replicas: 3 });
  expect(client.all(REPLICA_SETS)[0]?.status?.conditions).toBeUndefined();
});

it('writes nothing and creates nothing where only the node and the addresses of a pod change', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  await client.put(REPLICA_SETS, replicaSet(1));
  run([replicaSetController]);
  await clock.advance(1000);
  const pod = cloneJson(client.all(PODS)[0] ?? barePod('missing'));
  await client.update(
    PODS,
    { ...pod, spec: { containers: [], nodeName: 'n1' }, status: { podIP: '10.0.0.1' } },
    stop.signal,
  );
  const writes = client.writes.length;
  await clock.advance(1000);
  expect(client.writes).toHaveLength(writes);
});

it('counts the pods of a large set a few times while they become ready, and all of them in the end', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  await client.put(REPLICA_SETS, replicaSet(200));
  run([replicaSetController]);
  await clock.advance(1000);
  const written = () =>
    client.writes.filter(({ verb, resource }) => verb === 'update' && resource.resource === 'replicasets').length;
  const before = written();
  for (const pod of client.all(PODS)) {
    const conditions = [{ type: 'Ready', status: 'True' }];
    await client.updateStatus(PODS, { ...pod, status: { phase: 'Running', conditions } }, stop.signal);
    await clock.advance(1);
  }
  await clock.advance(1000);
  expect(client.all(REPLICA_SETS)[0]?.status).toMatchObject({ replicas: 200, readyReplicas: 200 });
  // The changes take 200 ms and are collected for 100 ms at a time.
  expect(written() - before).toBeLessThanOrEqual(3);
});

describe('a ReplicationController', () => {
  const replication = (replicas: number): ReplicationController => ({
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'old', namespace: 'n' },
    spec: { replicas, selector: labels, template: { metadata: { labels }, spec: { containers: [] } } },
  });

  it('adopts, creates, scales down and releases, with its own source of Events', async () => {
    const { clock, client, stop, events, run } = createControllerHarness();
    await client.put(PODS, barePod('orphan'));
    await client.put(REPLICATION_CONTROLLERS, replication(3));
    run([replicaSetController, replicationController]);
    await clock.advance(1000);
    const owners = () => client.all(PODS).map((pod) => controllerOf(pod)?.kind);
    expect(owners()).toEqual(Array(3).fill('ReplicationController'));
    const set = client.all(REPLICATION_CONTROLLERS)[0] ?? replication(0);
    expect(set.status).toMatchObject({ replicas: 3, fullyLabeledReplicas: 3 });
    await client.update(REPLICATION_CONTROLLERS, { ...set, spec: { ...set.spec, replicas: 1 } }, stop.signal);
    await clock.advance(1000);
    expect(owners()).toHaveLength(1);
    const [left = barePod('missing')] = client.all(PODS);
    await client.update(PODS, { ...left, metadata: { ...left.metadata, labels: { app: 'free' } } }, stop.signal);
    await clock.advance(1000);
    expect(owners().sort()).toEqual(['ReplicationController', undefined]);
    const reported = events('ReplicationController').map(
      ({ source, reason }) => `${source?.component ?? ''} ${reason ?? ''}`,
    );
    expect(new Set(reported)).toEqual(
      new Set(['replication-controller SuccessfulCreate', 'replication-controller SuccessfulDelete']),
    );
  });
});

it('measures how old the pods are that it gives up, where others stay', async () => {
  const { clock, client, run } = createControllerHarness();
  const set = await client.put(REPLICA_SETS, replicaSet(2));
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(clock.now()) }];
  for (const [name, cost] of [
    ['older', -2],
    ['old', -1],
    ['young', 0],
  ] as const) {
    const annotations = { 'controller.kubernetes.io/pod-deletion-cost': `${cost}` };
    const metadata = { name, namespace: 'n', labels, annotations, ownerReferences: [controllerReference(set)] };
    await client.put(PODS, { ...barePod(name), metadata, status: { phase: 'Running', conditions } });
    await clock.advance(60_000);
  }
  const metrics = createMetrics('part');
  run([createReplicaSetController(podSetMeter(metrics))]);
  await clock.advance(1000);
  expect(
    client
      .all(PODS)
      .map(({ metadata }) => metadata.name)
      .sort(),
  ).toEqual(['old', 'young']);
  const served = (await metrics.render()).text.split('\n').filter((line) => line.includes('deletion_age_ratio'));
  expect(served).toContain('replicaset_controller_sorting_deletion_age_ratio_sum 3');
  expect(served).toContain('replicaset_controller_sorting_deletion_age_ratio_count 1');
});

const set = (replicas: number, status: Partial<ReplicaSet['status']> = {}): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set' },
  spec: { replicas, selector: {} },
  status: { replicas: 0, ...status },
});
const pod = (change: { phase?: string; ready?: boolean; deleting?: boolean; app?: string } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    labels: { app: change.app ?? 'a' },
    ...(change.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  status: {
    phase: change.phase ?? 'Running',
    conditions: [{ type: 'Ready', status: change.ready === true ? 'True' : 'False' }],
  },
});

describe('a change of a pod', () => {
  it('does not wait in a small set', () => {
    expect(collectingMs(pod({ ready: true }), pod(), set(99))).toBe(0);
  });

  it('waits in proportion to a large set, for a second at most', () => {
    const wait = (of: ReplicaSet) => collectingMs(pod({ ready: true }), pod(), of);
    expect([100, 1000, 10_000, 100_000].map((replicas) => wait(set(replicas)))).toEqual([50, 500, 1000, 1000]);
    expect(wait(set(0, { replicas: 500 }))).toBe(250);
    expect(wait(set(0, { terminatingReplicas: 300 }))).toBe(150);
  });

  it.each([
    ['a new pod waits', pod(), undefined, 500],
    ['the end of a terminating pod waits', undefined, pod({ deleting: true }), 500],
    ['a pod that is gone does not', undefined, pod(), 0],
    ['one that is being deleted does not', pod({ deleting: true }), pod(), 0],
    ['one that failed does not', pod({ phase: 'Failed' }), pod(), 0],
    ['one with other labels does not', pod({ app: 'b' }), pod(), 0],
  ])('%s', (_, now, old, expected) => {
    expect(collectingMs(now, old, set(1000))).toBe(expected);
  });

  it('does not wait where the set is not known', () => {
    expect(collectingMs(pod(), undefined, undefined)).toBe(0);
  });
});
