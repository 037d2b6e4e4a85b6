import { formatTime } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import { NODES, type Pod, PODS } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createTaintEvictionController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };

it('keeps what others say of a pod that it evicts', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const taints = [{ key: 'maintenance', effect: 'NoExecute' }];
  await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
  await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    // The finalizer keeps the pod, so that the writes before its deletion can be seen.
    metadata: { ...KEY, finalizers: ['example.org/hold'] },
    spec: { containers: [], nodeName: 'n' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const unready = { type: 'Ready', status: 'False', reason: 'ContainersNotReady' };
  const meanwhile = async (write: ObjectWrite) => {
    if (!('subresource' in write)) return;
    const current = await client.get(PODS, KEY, stop.signal);
    const object = { ...current, status: { phase: 'Running', conditions: [unready] } } as Pod;
    await client.updateStatus(PODS, object, stop.signal);
  };
  run([createTaintEvictionController(createMeters(createMetrics()).taintEviction)], { meanwhile });
  await clock.advance(100);
  const pod = client.all(PODS)[0];
  expect(pod?.status?.conditions).toContainEqual(expect.objectContaining(unready));
  expect(pod?.status?.conditions?.map(({ type }) => type).sort()).toEqual(['DisruptionTarget', 'Ready']);
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
});

it('spares a pod that names a node just before the taint of its lost agent goes', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const key = 'node.kubernetes.io/unreachable';
  const timeAdded = formatTime(clock.now() - 60_000);
  const taints = [{ key, effect: 'NoExecute', timeAdded }];
  await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
  run([createTaintEvictionController(createMeters(createMetrics()).taintEviction)]);
  const spec = { containers: [], nodeName: 'n', tolerations: [{ key, operator: 'Exists', tolerationSeconds: 5 }] };
  const metadata = { ...KEY, creationTimestamp: formatTime(clock.now()) };
  await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await clock.advance(1000);
  await client.patch(NODES, { namespace: '', name: 'n' }, { merge: { spec: { taints: null } } }, stop.signal);
  await clock.advance(60_000);
  expect(client.all(PODS).map((pod) => pod.metadata.deletionTimestamp)).toEqual([undefined]);
});

it.each([
  [
    'of a StatefulSet',
    { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's', controller: true }] },
    [],
  ],
  ['with a claim', {}, [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]],
])('leaves the end of a pod %s to its node, also without a grace period', async (_, owned, volumes) => {
  const { clock, client, run } = createControllerHarness();
  const taints = [{ key: 'maintenance', effect: 'NoExecute' }];
  await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
  const spec = { containers: [], nodeName: 'n', terminationGracePeriodSeconds: 0, volumes };
  // Without a grace period of its own.
  await client.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...KEY, name: 'other' },
    spec: { ...spec, volumes: [] },
  });
  await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { ...KEY, ...owned }, spec });
  const graces = new Map<string | undefined, number | null | undefined>();
  const meanwhile = async (write: ObjectWrite) => {
    if (write.verb === 'delete') graces.set(write.key.name, write.options?.gracePeriodSeconds);
  };
  run([createTaintEvictionController(createMeters(createMetrics()).taintEviction)], { meanwhile });
  await clock.advance(1_000);
  expect([graces.get('p'), graces.get('other')]).toEqual([1, undefined]);
});

describe('an eviction that is scheduled', () => {
  const start = async (metrics = createMetrics()) => {
    const harness = createControllerHarness();
    const { client, clock, run } = harness;
    const taints = [{ key: 'maintenance', effect: 'NoExecute' }];
    await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } });
    const tolerations = [{ operator: 'Exists', tolerationSeconds: 30 }];
    const spec = { containers: [], nodeName: 'n', tolerations };
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: KEY, spec });
    run([createTaintEvictionController(createMeters(metrics).taintEviction)]);
    await clock.advance(10_000);
    expect(client.all(PODS)).toHaveLength(1);
    return harness;
  };
  const told = ({ events }: ControllerHarness) =>
    events('Pod').map(({ reason, message }) => `${reason ?? ''}: ${message ?? ''}`);

  it('is reported as cancelled when the pod is deleted before', async () => {
    const harness = await start();
    await harness.client.delete(PODS, KEY, {}, harness.stop.signal);
    await harness.clock.advance(1000);
    expect(told(harness)).toEqual(['TaintManagerEviction: Cancelling deletion of Pod a/p']);
  });

  it('happens when the toleration has run out, though the taint has no time and the pod changes', async () => {
    const metrics = createMetrics();
    const harness = await start(metrics);
    const { client, clock, stop } = harness;
    await client.patch(PODS, KEY, { merge: { metadata: { labels: { a: 'b' } } } }, stop.signal);
    await clock.advance(19_000);
    expect(client.all(PODS)).toHaveLength(1);
    await clock.advance(2000);
    expect(client.all(PODS)).toEqual([]);
    expect(told(harness)).toEqual(['TaintManagerEviction: Marking for deletion Pod a/p']);
    const { text } = await metrics.render();
    expect(text).toContain('taint_eviction_controller_pod_deletions_total 1\n');
    // According to its toleration, the pod was due when it was deleted, and not when it was first seen.
    expect(text).toContain('taint_eviction_controller_pod_deletion_duration_seconds_bucket{le="1"} 1\n');
  });

  it('is cancelled with a report when the taint goes', async () => {
    const harness = await start();
    const { client, clock, stop } = harness;
    await client.patch(NODES, { namespace: '', name: 'n' }, { merge: { spec: { taints: null } } }, stop.signal);
    await clock.advance(60_000);
    expect(client.all(PODS)).toHaveLength(1);
    expect(told(harness)).toEqual(['TaintManagerEviction: Cancelling deletion of Pod a/p']);
  });

  it('is cancelled with a report when the pod goes before', async () => {
    const harness = await start();
    const { client, clock, stop } = harness;
    await client.delete(PODS, KEY, {}, stop.signal);
    await clock.advance(60_000);
    expect(told(harness)).toEqual(['TaintManagerEviction: Cancelling deletion of Pod a/p']);
  });
});
