import type { ObjectWrite } from '@gantry/client';
import {
  CONTROLLER_REVISIONS,
  controllerOf,
  controllerReference,
  PERSISTENT_VOLUME_CLAIMS,
  type Pod,
  PODS,
  STATEFUL_SETS,
  type StatefulSetSpec,
  StatusError,
} from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { newRevision } from '../../libraries/revisions/revision.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { statefulSetController } from './controller.ts';
import { claimTemplate, setState, statefulSet, template } from './testing/objects.ts';

const KEY = { namespace: 'n', name: 'web' };
const RETRIED_MS = 60_000;

let harness: ControllerHarness;
beforeEach(() => {
  harness = createControllerHarness();
});

const names = () => harness.client.all(PODS).map(({ metadata }) => metadata.name);
const eventsOfSet = () =>
  harness.events('StatefulSet').map(({ type, reason, message }) => `${type} ${reason} ${message}`);
const status = () => harness.client.all(STATEFUL_SETS)[0]?.status;

async function putSet(spec: Partial<StatefulSetSpec>): Promise<void> {
  const { metadata, ...set } = statefulSet(spec);
  await harness.client.put(STATEFUL_SETS, { ...set, metadata: { ...KEY, generation: metadata.generation ?? 1 } });
}

async function run(meanwhile?: (write: ObjectWrite) => Promise<void>): Promise<void> {
  harness.run([statefulSetController], meanwhile === undefined ? {} : { meanwhile });
  await harness.clock.advance(1000);
}

async function report(name: string, state: string): Promise<void> {
  const { client, clock, stop } = harness;
  const pod = await client.get(PODS, { namespace: 'n', name }, stop.signal);
  const changed: Pod = { ...pod };
  setState(changed, state, clock.now());
  await client.updateStatus(PODS, changed, stop.signal);
  await clock.advance(1000);
}

async function change(spec: Partial<StatefulSetSpec>): Promise<void> {
  const { client, clock, stop } = harness;
  const set = await client.get(STATEFUL_SETS, KEY, stop.signal);
  await client.update(STATEFUL_SETS, { ...set, spec: { ...set.spec, ...spec } as StatefulSetSpec }, stop.signal);
  await clock.advance(1000);
}

const FREE_POD: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'n', name: 'web-0' },
  spec: { containers: [] },
};

const LABELLED_POD: Pod = { ...FREE_POD, metadata: { ...FREE_POD.metadata, labels: { app: 'a' } } };

it('creates, updates and deletes pods one at a time, and keeps their claims', async () => {
  await putSet({ replicas: 2, volumeClaimTemplates: [claimTemplate('data')] });
  await run();
  expect(names()).toEqual(['web-0']);
  await report('web-0', 'ready');
  await report('web-1', 'ready');
  expect(names()).toEqual(['web-0', 'web-1']);
  const first = status();
  expect(first).toMatchObject({
    replicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
    updatedReplicas: 2,
    collisionCount: 0,
  });
  await change({ template: template('newer') });
  const second = status();
  expect(second?.currentRevision).toBe(first?.currentRevision);
  expect(second?.updateRevision).not.toBe(first?.updateRevision);
  for (const name of ['web-1', 'web-0']) await report(name, 'ready');
  expect(status()).toMatchObject({ updatedReplicas: 2, currentRevision: second?.updateRevision });
  expect(harness.client.all(PODS).map(({ spec }) => spec?.containers[0]?.image)).toEqual(['newer', 'newer']);
  await change({ replicas: 0 });
  expect(names()).toEqual([]);
  expect(harness.client.all(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(2);
  expect(harness.client.all(CONTROLLER_REVISIONS)).toHaveLength(2);
  expect(eventsOfSet()).toContain('Normal SuccessfulDelete Delete Pod web-1 in StatefulSet web successful');
});

it('at rest writes nothing and lists nothing', async () => {
  await putSet({ replicas: 1 });
  await run();
  await report('web-0', 'ready');
  const before = harness.client.writes.length;
  await harness.clock.advance(RETRIED_MS);
  expect(harness.client.writes.slice(before).filter(({ resource }) => resource.resource !== 'leases')).toEqual([]);
});

describe('at most one pod of a name', () => {
  it('waits for a pod of that name that belongs to something else', async () => {
    const other = { ...controllerReference({ ...FREE_POD, metadata: { name: 'x', uid: 'x' } }) };
    await harness.client.put(PODS, { ...FREE_POD, metadata: { ...FREE_POD.metadata, ownerReferences: [other] } });
    await putSet({ replicas: 1 });
    await run();
    await harness.clock.advance(RETRIED_MS);
    expect(harness.client.all(PODS).map((pod) => controllerOf(pod)?.uid)).toEqual(['x']);
    expect(eventsOfSet()).toEqual([]);
    await harness.client.delete(PODS, { namespace: 'n', name: 'web-0' }, {}, harness.stop.signal);
    await harness.clock.advance(100);
    expect(harness.client.all(PODS).map((pod) => controllerOf(pod)?.kind)).toEqual(['StatefulSet']);
  });

  it('deletes the pod that it saw, no later one of its name', async () => {
    await putSet({ replicas: 1 });
    let acted: 'no' | 'yes' = 'no';
    await run(async ({ verb }) => {
      if (verb !== 'delete' || acted === 'yes') return;
      acted = 'yes';
      await harness.client.delete(PODS, { namespace: 'n', name: 'web-0' }, {}, harness.stop.signal);
      await harness.client.put(PODS, FREE_POD);
    });
    await report('web-0', 'failed');
    expect(acted).toBe('yes');
    expect(harness.client.all(PODS).map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined]);
    expect(eventsOfSet()).toEqual(['Normal SuccessfulCreate Create Pod web-0 in StatefulSet web successful']);
  });

  it('adopts a pod of its name', async () => {
    await harness.client.put(PODS, LABELLED_POD);
    await putSet({ replicas: 1 });
    await run();
    expect(harness.client.all(PODS).map((pod) => controllerOf(pod)?.kind)).toEqual(['StatefulSet']);
  });

  it('adopts nothing for a set that the store does not have any more, though the cache does', async () => {
    const { client, clock, stop } = harness;
    await client.put(PODS, LABELLED_POD);
    await putSet({ replicas: 1 });
    let acted: 'no' | 'yes' = 'no';
    const reach = async (_: AbortSignal, { verb, resource }: { readonly verb: string; readonly resource?: string }) => {
      const isFirst = (verb === 'get' && resource === 'statefulsets') || (verb === 'patch' && resource === 'pods');
      if (!isFirst || acted === 'yes') return;
      acted = 'yes';
      await client.delete(STATEFUL_SETS, KEY, {}, stop.signal);
    };
    harness.run([statefulSetController], { reach });
    await clock.advance(RETRIED_MS);
    expect(acted).toBe('yes');
    expect(client.all(PODS).map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined]);
  });
});

describe('a refused pod', () => {
  const refuse = (times: number) =>
    harness.client.failNext(
      ({ verb, resource }) => verb === 'create' && resource.resource === 'pods',
      new StatusError('Forbidden', 'exceeded quota'),
      times,
    );

  it('is reported, and the status is written all the same', async () => {
    await putSet({ replicas: 1 });
    refuse(Number.POSITIVE_INFINITY);
    await run();
    expect(status()).toMatchObject({ replicas: 0, observedGeneration: 1 });
    const message = 'Create Pod web-0 in StatefulSet web failed error: exceeded quota';
    expect(eventsOfSet()).toContain(`Warning FailedCreate ${message}`);
  });

  it('is tried again', async () => {
    await putSet({ replicas: 1 });
    refuse(3);
    await run();
    await harness.clock.advance(RETRIED_MS);
    expect(names()).toEqual(['web-0']);
  });
});

it('is silent in a terminating namespace', async () => {
  const details = { causes: [{ reason: 'NamespaceTerminating' }] };
  const refused = new StatusError('Forbidden', 'namespace n is being terminated', { details });
  harness.client.failNext(({ verb, resource }) => verb === 'create' && resource.resource === 'pods', refused, 10);
  await putSet({ replicas: 1, podManagementPolicy: 'Parallel' });
  await run();
  await harness.clock.advance(RETRIED_MS);
  expect(eventsOfSet()).toEqual([]);
});

it('waits for a claim that is being deleted, and goes on when it is gone', async () => {
  const { client, clock, stop } = harness;
  const key = { namespace: 'n', name: 'data-web-0' };
  const claim = { ...claimTemplate('data'), metadata: { ...key, finalizers: ['kubernetes.io/pvc-protection'] } };
  const held = await client.put(PERSISTENT_VOLUME_CLAIMS, claim);
  await client.delete(PERSISTENT_VOLUME_CLAIMS, key, {}, stop.signal);
  await putSet({ replicas: 1, volumeClaimTemplates: [claimTemplate('data')] });
  await run();
  expect(names()).toEqual([]);
  await client.patch(PERSISTENT_VOLUME_CLAIMS, key, { merge: { metadata: { finalizers: null } } }, stop.signal);
  await clock.advance(1000);
  expect(names()).toEqual(['web-0']);
  expect(client.all(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.uid)).not.toContain(held.metadata.uid);
});

it('says again and again that a claim is being deleted, for as long as it is', async () => {
  const { client, clock, stop, events } = harness;
  const key = { namespace: 'n', name: 'data-web-0' };
  const metadata = { ...key, finalizers: ['kubernetes.io/pvc-protection'] };
  await client.put(PERSISTENT_VOLUME_CLAIMS, { ...claimTemplate('data'), metadata });
  await client.delete(PERSISTENT_VOLUME_CLAIMS, key, {}, stop.signal);
  await putSet({ replicas: 1, volumeClaimTemplates: [claimTemplate('data')] });
  await run();
  await clock.advance(60_000);
  const seen = () => events('StatefulSet').map(({ reason, lastTimestamp }) => [reason, lastTimestamp]);
  const [[, first] = []] = seen();
  await clock.advance(45 * 60_000);
  expect(seen()).toEqual([['FailedCreate', expect.not.stringMatching(first ?? '')]]);
});

it('finds another name for a revision whose name another template has', async () => {
  await putSet({ replicas: 1 });
  const hashLabel = 'controller.kubernetes.io/hash';
  const input = { owner: statefulSet(), number: 1, collisionCount: 0, hashLabel } as const;
  const wanted = newRevision({ ...input, template: template('new') });
  const taken = newRevision({ ...input, template: template('another') });
  const { name = '' } = wanted.metadata;
  await harness.client.put(CONTROLLER_REVISIONS, { ...taken, metadata: { name, namespace: 'n' } });
  await run();
  await harness.clock.advance(RETRIED_MS);
  expect(status()?.collisionCount).toBe(1);
  expect(status()?.updateRevision).not.toBe(name);
  expect(names()).toEqual(['web-0']);
});

it('creates all pods of a parallel set, and deletes all that are too many', async () => {
  await putSet({ replicas: 20, podManagementPolicy: 'Parallel' });
  await run();
  expect(names()).toHaveLength(20);
  await change({ replicas: 3 });
  expect(names()).toEqual(['web-0', 'web-1', 'web-2']);
});
