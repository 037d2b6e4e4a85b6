import type { ObjectWrite } from '@gantry/client';
import {
  controllerReference,
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  type KubeObject,
  type Pod,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  PODS,
  REPLICA_SETS,
  StatusError,
} from '@gantry/objects';
import { expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createDisruptionController, staleDisruptionController } from './controller.ts';

const NAMESPACE = 'n';
const LABELS = { app: 'a' };
const KEY = { namespace: NAMESPACE, name: 'keep' };

function pod(name: string, owner: KubeObject | undefined, ready = 'True'): Pod {
  const ownerReferences = owner === undefined ? [] : [controllerReference(owner)];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: LABELS, ownerReferences },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] },
  };
}

function putBudget({ client }: ControllerHarness, spec: object): Promise<PodDisruptionBudget> {
  return client.put(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { ...KEY },
    spec: { selector: { matchLabels: LABELS }, ...spec },
  });
}

async function statusOf({ client, stop }: ControllerHarness): Promise<PodDisruptionBudget['status']> {
  return (await client.get(POD_DISRUPTION_BUDGETS, KEY, stop.signal)).status;
}

const selector = { matchLabels: LABELS };
const template = { metadata: { labels: LABELS } };

it('counts what a Deployment wants, and again when that changes', async () => {
  const harness = createControllerHarness();
  const { client, clock } = harness;
  const deployment = await client.put(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: NAMESPACE },
    spec: { replicas: 3, selector, template },
  });
  const set = await client.put(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 's', namespace: NAMESPACE, ownerReferences: [controllerReference(deployment)] },
    spec: { replicas: 1, selector, template },
  });
  await client.put(PODS, pod('one', set));
  await client.put(PODS, pod('two', set));
  await putBudget(harness, { maxUnavailable: 1 });
  harness.run([createDisruptionController()]);
  await clock.advance(100);
  expect(await statusOf(harness)).toMatchObject({ expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 0 });
  await client.update(DEPLOYMENTS, { ...deployment, spec: { replicas: 2, selector, template } }, harness.stop.signal);
  await clock.advance(100);
  expect(await statusOf(harness)).toMatchObject({ expectedPods: 2, desiredHealthy: 1, disruptionsAllowed: 1 });
});

it('does not write a status over an eviction that it has not seen', async () => {
  const harness = createControllerHarness();
  const { client, clock } = harness;
  for (const name of ['one', 'two', 'three']) await client.put(PODS, pod(name, undefined));
  const budget = await putBudget(harness, { minAvailable: 1 });
  const disruptedPods = { one: new Date(clock.now()).toISOString() };
  const status = { currentHealthy: 3, desiredHealthy: 1, disruptionsAllowed: 1, expectedPods: 3, disruptedPods };
  let acted = false;
  const meanwhile = async () => {
    if (acted) return;
    acted = true;
    await client.updateStatus(POD_DISRUPTION_BUDGETS, { ...budget, status }, harness.stop.signal);
  };
  harness.run([createDisruptionController()], { meanwhile });
  await clock.advance(1000);
  expect(acted).toBe(true);
  expect(await statusOf(harness)).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1, disruptedPods });
});

it('writes nothing when a pod changes in what budgets do not count, and reports a lasting condition once', async () => {
  const harness = createControllerHarness();
  const { client, clock, events } = harness;
  const made = await client.put(PODS, pod('one', undefined));
  await putBudget(harness, { maxUnavailable: 1 });
  harness.run([createDisruptionController()]);
  await clock.advance(100);
  await client.updateStatus(PODS, { ...made, status: { ...made.status, hostIP: '10.0.0.1' } }, harness.stop.signal);
  await clock.advance(100);
  const updates = client.writes.filter(({ resource }) => resource.resource === 'poddisruptionbudgets');
  expect(updates).toHaveLength(1);
  await client.put(PODS, pod('two', undefined));
  await clock.advance(100);
  expect(events().map(({ reason, count, source }) => [reason, count, source?.component])).toEqual([
    ['UnmanagedPods', 1, 'controllermanager'],
  ]);
});

it('reports a lasting condition again when its pods change after the Event may have expired', async () => {
  const harness = createControllerHarness();
  const { client, clock, events } = harness;
  await putBudget(harness, { maxUnavailable: 1 });
  await client.put(PODS, pod('one', undefined));
  harness.run([createDisruptionController()]);
  const seen = () => events('PodDisruptionBudget').map(({ reason, count }) => [reason, count]);
  await clock.advance(45 * 60_000);
  expect(seen()).toEqual([['UnmanagedPods', 1]]);
  for (const name of ['two', 'three']) {
    await client.put(PODS, pod(name, undefined));
    await clock.advance(1000);
  }
  expect(seen()).toEqual([['UnmanagedPods', 2]]);
});

it('names a kind without a scale, and one that is not served', async () => {
  const harness = createControllerHarness();
  const { client, clock } = harness;
  const owner = (apiVersion: string, kind: string): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'o', uid: kind },
  });
  const job = await client.put(PODS, pod('one', owner('batch/v1', 'Job')));
  await putBudget(harness, { maxUnavailable: 1 });
  harness.run([createDisruptionController()]);
  await clock.advance(100);
  const messages = async () =>
    (await statusOf(harness))?.conditions?.map(({ reason, message }) => `${reason} ${message}`);
  expect(await messages()).toEqual(['SyncFailed jobs.batch does not implement the scale subresource']);
  const ownerReferences = [controllerReference(owner('example.org/v1', 'Robot'))];
  await client.update(PODS, { ...job, metadata: { ...job.metadata, ownerReferences } }, harness.stop.signal);
  await clock.advance(100);
  expect(await messages()).toEqual(['SyncFailed no matches for kind "Robot" in version "example.org/v1"']);
});

const ROBOTS = { group: 'example.org', version: 'v1', resource: 'robots', kind: 'Robot', namespaced: true };

/** A custom resource with a scale of 4, three pods of it, and a budget for half of them. */
async function putRobot(harness: ControllerHarness): Promise<void> {
  const { client } = harness;
  const names = { plural: 'robots', kind: 'Robot' };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const scale = { specReplicasPath: '.spec.size.wanted', statusReplicasPath: '.status.replicas' };
  await client.put(CUSTOM_RESOURCE_DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'robots.example.org' },
    spec: {
      group: 'example.org',
      names,
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { scale } }],
    },
    status: { acceptedNames: names, conditions: [{ type: 'Established', status: 'True' }] },
  });
  const robot = await client.put(ROBOTS, {
    apiVersion: 'example.org/v1',
    kind: 'Robot',
    metadata: { name: 'r', namespace: NAMESPACE },
    spec: { size: { wanted: 4 } },
  } as KubeObject);
  for (const name of ['one', 'two', 'three']) await client.put(PODS, pod(name, robot));
  await putBudget(harness, { minAvailable: '50%' });
}

it('reads the scale of a custom resource by the path of its definition', async () => {
  const harness = createControllerHarness();
  await putRobot(harness);
  harness.run([createDisruptionController()]);
  await harness.clock.advance(1000);
  expect(await statusOf(harness)).toMatchObject({ expectedPods: 4, desiredHealthy: 2, disruptionsAllowed: 1 });
});

it('allows nothing while a scale cannot be read, and reads it again', async () => {
  const harness = createControllerHarness();
  await putRobot(harness);
  let failures = 0;
  const reach = async (_signal: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
    if (verb !== 'get' || resource !== 'robots' || failures > 1) return;
    failures += 1;
    throw new StatusError('ServiceUnavailable', 'no conversion now');
  };
  const seen: unknown[] = [];
  const meanwhile = async (write: ObjectWrite) => {
    if (write.verb === 'update' && write.resource.resource === 'poddisruptionbudgets')
      seen.push((write.object as PodDisruptionBudget).status?.conditions?.[0]?.message);
  };
  harness.run([createDisruptionController()], { reach, meanwhile });
  await harness.clock.advance(10_000);
  expect(seen).toEqual(['no conversion now', '']);
  expect(await statusOf(harness)).toMatchObject({ expectedPods: 4, disruptionsAllowed: 1 });
});

it('clears a stale disruption target and keeps the other conditions', async () => {
  const { client, clock, stop, run } = createControllerHarness();
  const made = pod('one', undefined);
  const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'm' };
  const lastTransitionTime = new Date(clock.now()).toISOString();
  const conditions = [...(made.status?.conditions ?? []), { ...target, lastTransitionTime }];
  await client.put(PODS, { ...made, status: { phase: 'Running', conditions } });
  run([staleDisruptionController]);
  await clock.advance(119_000);
  expect(client.writes.filter(({ resource }) => resource.resource === 'pods')).toEqual([]);
  await clock.advance(2000);
  const { status } = await client.get(PODS, { namespace: NAMESPACE, name: 'one' }, stop.signal);
  expect(status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason])).toEqual([
    ['Ready', 'True', undefined],
    ['DisruptionTarget', 'False', undefined],
  ]);
});
