import type { ObjectWrite } from '@gantry/client';
import { EVENTS, NODES, type Pod, PODS, StatusError } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createPodGcController, createTerminatedPodGcController } from './controller.ts';
import { QUARANTINE_MS } from './plan.ts';

const KEY = { namespace: 'a', name: 'p' };

describe('the collector of pods, overtaken by others', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  beforeEach(async () => {
    ({ clock, client, stop, run: start } = createControllerHarness());
    await client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      // The finalizer keeps the pod, so that the writes before its deletion can be seen.
      metadata: { ...KEY, finalizers: ['example.org/hold'] },
      spec: { containers: [], nodeName: 'gone' },
      status: { phase: 'Running', conditions: [{ type: 'example.org/gate', status: 'False' }] },
    });
  });

  /** Collects the pod while another client writes its status first. */
  const collectWhile = async (status: Pod['status']) => {
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async (write: ObjectWrite) => {
      if (acted === 'yes' || !('subresource' in write)) return;
      acted = 'yes';
      const current = await client.get(PODS, KEY, stop.signal);
      const object = { ...current, status } as Pod;
      await client.updateStatus(PODS, object, stop.signal);
    };
    start([createPodGcController(createMeters(createMetrics()).podGc)], { meanwhile });
    await clock.advance(QUARANTINE_MS + 1000);
    return client.all(PODS)[0];
  };

  it('leaves a pod that has ended meanwhile its end', async () => {
    const pod = await collectWhile({ phase: 'Succeeded' });
    expect(pod?.status).toEqual({ phase: 'Succeeded' });
    expect(pod?.metadata.deletionTimestamp).toBeDefined();
  });

  it('keeps what others say of a pod', async () => {
    const gate = { type: 'example.org/gate', status: 'True' };
    const pod = await collectWhile({ phase: 'Running', conditions: [gate] });
    expect(pod?.status?.phase).toBe('Failed');
    expect(pod?.status?.conditions).toContainEqual(expect.objectContaining(gate));
    expect(pod?.metadata.deletionTimestamp).toBeDefined();
  });
});

describe('the collector of pods, with a node that is lost', () => {
  it('says once in the pod and in an Event what the pod waits for, and removes it with the taint', async () => {
    const { clock, client, stop, run } = createControllerHarness();
    const ready = (status: string) => ({ conditions: [{ type: 'Ready', status }] });
    await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: ready('True') });
    const finalizers = ['example.org/hold'];
    const spec = { containers: [], nodeName: 'n', terminationGracePeriodSeconds: 1 };
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { ...KEY, finalizers }, spec });
    await client.delete(PODS, KEY, {}, stop.signal);
    run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await clock.advance(30_000);
    expect(client.all(PODS)[0]?.status?.reason).toBeUndefined();
    const node = await client.get(NODES, { namespace: '', name: 'n' }, stop.signal);
    const lost = await client.updateStatus(NODES, { ...node, status: ready('Unknown') }, stop.signal);
    await clock.advance(60_000);
    const { status } = client.all(PODS)[0] ?? {};
    expect(status).toMatchObject({ reason: 'NodeLost', message: expect.stringContaining('Node n is lost') });
    expect(client.all(EVENTS).filter(({ reason }) => reason === 'NodeLost')).toEqual([
      expect.objectContaining({ type: 'Warning', reason: 'NodeLost', message: status?.message, count: 1 }),
    ]);
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    await client.update(NODES, { ...lost, spec: { taints } }, stop.signal);
    await clock.advance(1_000);
    expect(client.all(PODS)[0]?.status?.phase).toBe('Failed');
  });
});

describe('the collector of pods, waiting for a node', () => {
  let harness: ControllerHarness;
  beforeEach(() => {
    harness = createControllerHarness();
  });
  const putPod = (name: string) =>
    harness.client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'a', name },
      spec: { containers: [], nodeName: 'n' },
    });
  const putNode = () => harness.client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  const names = () => harness.client.all(PODS).map(({ metadata }) => metadata.name);

  it('gives each pod that is bound to a missing node the whole time', async () => {
    const { clock, run } = harness;
    await putPod('first');
    run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await clock.advance(QUARANTINE_MS - 1000);
    await putPod('second');
    await clock.advance(2000);
    expect(names()).toEqual(['second']);
    await clock.advance(QUARANTINE_MS - 3000);
    expect(names()).toEqual(['second']);
    await clock.advance(2000);
    expect(names()).toEqual([]);
  });

  it('gives a pod of the same name, and one bound to the name of a node that went long ago, the whole time', async () => {
    const { clock, client, stop, run } = harness;
    await putPod('p');
    run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await clock.advance(QUARANTINE_MS - 1000);
    await client.delete(PODS, { namespace: 'a', name: 'p' }, {}, stop.signal);
    await putPod('p');
    await clock.advance(QUARANTINE_MS - 1000);
    expect(names()).toEqual(['p']);
    await clock.advance(2000);
    expect(names()).toEqual([]);
    await clock.advance(60_000);
    await putPod('late');
    await clock.advance(QUARANTINE_MS - 1000);
    expect(names()).toEqual(['late']);
  });

  it('keeps the pods of a node that registers again in time', async () => {
    const { clock, run } = harness;
    await putPod('p');
    run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await clock.advance(QUARANTINE_MS - 1000);
    await putNode();
    await clock.advance(QUARANTINE_MS * 2);
    expect(names()).toEqual(['p']);
  });

  it('keeps the pods of a node that lives, though the cache does not show it', async () => {
    const { clock, client, run } = harness;
    await putPod('p');
    run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await clock.advance(100);
    client.failNext(
      ({ verb, resource }) => resource.resource === 'nodes' && verb !== 'get',
      StatusError.unavailable('down'),
      Number.POSITIVE_INFINITY,
    );
    client.breakWatches();
    await clock.advance(100);
    await putNode();
    await clock.advance(QUARANTINE_MS * 2);
    expect(names()).toEqual(['p']);
  });
});

it('counts finished pods when one finishes, at most every 20 s, and removes the excess', async () => {
  const { client, clock, run } = createControllerHarness();
  const put = (i: number) =>
    client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `p${i}`, namespace: 'a' },
      spec: { containers: [], nodeName: 'n' },
      status: { phase: 'Succeeded' },
    });
  for (let i = 0; i < 12_500; i++) await put(i);
  const metrics = createMetrics();
  run([createTerminatedPodGcController(createMeters(metrics).podGc)]);
  await clock.advance(1000);
  await put(12_500);
  await put(12_501);
  await clock.advance(1000);
  expect(client.all(PODS)).toHaveLength(12_502);
  await clock.advance(20_000);
  expect(client.all(PODS)).toHaveLength(12_500);
  const deleted = 'pod_gc_collector_force_delete_pods_total{namespace="a",reason="terminated"} 2\n';
  expect((await metrics.render()).text).toContain(deleted);
});

it('counts pods whose deletion fails', async () => {
  const { client, clock, run } = createControllerHarness();
  const metrics = createMetrics();
  const metadata = { ...KEY, deletionTimestamp: '2026-01-01T00:00:00Z' };
  await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } });
  client.failNext(({ verb }) => verb === 'delete', StatusError.internal('not today'));
  run([createPodGcController(createMeters(metrics).podGc)]);
  await clock.advance(10_000);
  const { text } = await metrics.render();
  const labels = '{namespace="a",reason="unscheduled"}';
  expect(text).toContain(`pod_gc_collector_force_delete_pod_errors_total${labels} 1\n`);
  expect(text).toContain(`pod_gc_collector_force_delete_pods_total${labels} 1\n`);
  expect(client.all(PODS)).toEqual([]);
});
