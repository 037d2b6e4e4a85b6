import type { ReconcileReport } from '@gantry/controller-runtime';
import { DEPLOYMENTS, NODES, PODS } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '@gantry/service';
import { type ControllerHarness, createControllerHarness } from './testing/controller-harness.ts';
import { exampleControllers, lead, SETTLED_MS, writesOf } from './testing/example-controllers.ts';
import { EXAMPLE_WORLD } from './testing/example-world.ts';

const NAMES = exampleControllers().map(({ name }) => name);

async function createWorld(): Promise<ControllerHarness> {
  const harness = createControllerHarness();
  for (const [resource, object] of EXAMPLE_WORLD) await harness.client.put(resource, object);
  return harness;
}

describe.each(NAMES)('the controller %s', (name) => {
  it('acts in the example world, and planning again for everything yields nothing', async () => {
    const harness = await createWorld();
    await lead(harness, name);
    const first = writesOf(harness);
    // Some controllers only report Events.
    expect([...first, ...harness.events()], 'add what it acts on to testing/example-world.ts').not.toEqual([]);
    // A new leader plans for every object and knows nothing of what was done before.
    await lead(harness, name);
    expect(writesOf(harness).slice(first.length)).toEqual([]);
  });
});

it('all controllers together come to rest, and planning again for everything yields nothing', async () => {
  const harness = await createWorld();
  await lead(harness);
  const first = writesOf(harness);
  await lead(harness);
  expect(writesOf(harness).slice(first.length)).toEqual([]);
});

it('the gauges of a leader end with its term', async () => {
  const harness = await createWorld();
  const metrics = createMetrics();
  const shown = async () => {
    const { text } = await metrics.render();
    // The metrics of Node.js are left out, since they are about the process.
    const gauges = [...text.matchAll(/^# TYPE (?!nodejs_|process_)(\S+) gauge$/gm)].map(([, name = '']) => name);
    return gauges.filter((name) =>
      [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].some(([, value]) => Number(value) !== 0),
    );
  };
  const none = await shown();
  harness.run(exampleControllers(metrics));
  await harness.clock.advance(SETTLED_MS);
  const leading = (await shown()).filter((name) => !none.includes(name));
  expect(leading.map((name) => name.replace(/_controller_.*|_collector_.*/, ''))).toEqual(
    expect.arrayContaining(['endpoint_slice', 'horizontal_pod_autoscaler', 'node', 'node_ipam']),
  );
  harness.stop.abort();
  await harness.clock.advance(1000);
  expect((await shown()).filter((name) => leading.includes(name))).toEqual([]);
});

it('reconciles no pod that nothing is wrong with', async () => {
  const { client, clock, run, stop } = createControllerHarness();
  const count = 50;
  const conditions = [{ type: 'Ready', status: 'True' }];
  await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { conditions } });
  const reconciles = new Map<string, number>();
  const onReconcile = ({ controller }: ReconcileReport) =>
    reconciles.set(controller, (reconciles.get(controller) ?? 0) + 1);
  run(exampleControllers(), { onReconcile });
  await clock.advance(100);
  const labels = { app: 'a' };
  await client.put(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: 'n' },
    spec: {
      replicas: count,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [] } },
    },
  });
  await clock.advance(1000);
  const pods = client.all(PODS);
  expect(pods).toHaveLength(count);
  for (const { metadata } of pods) {
    const key = { namespace: 'n', name: metadata.name ?? '' };
    await client.patch(PODS, key, { merge: { spec: { nodeName: 'n' } } }, stop.signal);
    const status = { phase: 'Running', conditions };
    await client.patch(PODS, key, { merge: { status }, subresource: 'status' }, stop.signal);
  }
  await clock.advance(1000);
  expect(client.all(DEPLOYMENTS)[0]?.status).toMatchObject({ availableReplicas: count });
  for (const name of ['taint-eviction', 'pod-gc', 'stale-disruption', 'disruption', 'ephemeral-volume', 'job']) {
    expect(reconciles.get(name) ?? 0, name).toBe(0);
  }
  // Only the ReplicaSet causes a reconcile.
  expect(reconciles.get('garbage-collector') ?? 0).toBeLessThan(3);
});
