import { ManualClock } from '@gantry/base/testing';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import type { ControllerContext } from '@gantry/controller-runtime';
import {
  controllerReference,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type Pod,
  PODS,
  type StatefulSet,
  StatusError,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { PodAction } from './actions.ts';
import { claimTemplates, newClaim } from './claims.ts';
import { performPodAction } from './pod-writes.shell.ts';
import { claimTemplate, podOf, statefulSet } from './testing/objects.ts';

const SET = statefulSet({ volumeClaimTemplates: [claimTemplate('data'), claimTemplate('logs')] });
const POD = podOf(SET, 'web-1', ['new']);
const NONE = { create: [], owners: [] };
const CLAIMS = { create: claimTemplates(SET).map((of) => newClaim(SET, of, 1)), owners: [] };
const { signal } = new AbortController();

/** An API that throws what `refuse` returns for a write (`create pods`), and the Events that were reported. */
function setUp(refuse: (what: string) => Error | undefined = () => undefined) {
  const store = new FakeObjectClient(new ManualClock());
  const client = createOvertakenClient(store, async ({ verb, resource }) => {
    const error = refuse(`${verb} ${resource.resource}`);
    if (error !== undefined) throw error;
  });
  const events: string[] = [];
  const event = (about: KubeObject, type: string, reason: string, message: string) =>
    void events.push(`${about.kind} ${type} ${reason}: ${message}`);
  const context = { client, events: { event } } as Pick<ControllerContext, 'client' | 'events'> as ControllerContext;
  const perform = (action: PodAction, set: StatefulSet = SET) => performPodAction(action, set, context, signal);
  return { store, events, perform };
}

const without = (pod: Pod): Pod => {
  const { uid: _, resourceVersion: __, ...metadata } = pod.metadata;
  return { ...pod, metadata };
};
const QUOTA = new StatusError('Forbidden', 'exceeded quota');

describe('an action on a pod', () => {
  it('creates the claims, then the pod', async () => {
    const { store, events, perform } = setUp();
    await perform({ kind: 'createPod', pod: without(POD), claims: CLAIMS });
    expect(store.writes.map(({ verb, resource }) => `${verb} ${resource.resource}`)).toEqual([
      'create persistentvolumeclaims',
      'create persistentvolumeclaims',
      'create pods',
    ]);
    expect(events).toEqual([
      'StatefulSet Normal SuccessfulCreate: Create Claim data-web-1 Pod web-1 in StatefulSet web success',
      'StatefulSet Normal SuccessfulCreate: Create Claim logs-web-1 Pod web-1 in StatefulSet web success',
      'StatefulSet Normal SuccessfulCreate: Create Pod web-1 in StatefulSet web successful',
    ]);
  });

  it('creates no pod without its claims, and reports each claim and the pod', async () => {
    const { store, events, perform } = setUp((what) => (what === 'create persistentvolumeclaims' ? QUOTA : undefined));
    await expect(perform({ kind: 'createPod', pod: without(POD), claims: CLAIMS })).rejects.toThrow('exceeded quota');
    expect(store.all(PODS)).toEqual([]);
    expect(events).toEqual([
      'StatefulSet Warning FailedCreate: Create Claim data-web-1 for Pod web-1 in StatefulSet web failed error: exceeded quota',
      'StatefulSet Warning FailedCreate: Create Claim logs-web-1 for Pod web-1 in StatefulSet web failed error: exceeded quota',
      'StatefulSet Warning FailedCreate: Create Pod web-1 in StatefulSet web failed error: [failed to create PVC data-web-1: exceeded quota, failed to create PVC logs-web-1: exceeded quota]',
    ]);
  });

  it('reports a refused pod', async () => {
    const { events, perform } = setUp((what) => (what === 'create pods' ? QUOTA : undefined));
    await expect(perform({ kind: 'createPod', pod: without(POD), claims: NONE })).rejects.toThrow('exceeded quota');
    expect(events).toEqual([
      'StatefulSet Warning FailedCreate: Create Pod web-1 in StatefulSet web failed error: exceeded quota',
    ]);
  });

  it('fails silently where the name is taken, and leaves what has it', async () => {
    const { store, events, perform } = setUp();
    const taken = await store.put(PODS, without(POD));
    await expect(perform({ kind: 'createPod', pod: without(POD), claims: NONE })).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
    expect([store.all(PODS), events]).toEqual([[taken], []]);
  });

  it('deletes the pod by its uid; one that is gone was deleted, a namesake stays', async () => {
    const { store, events, perform } = setUp();
    const pod = await store.put(PODS, without(POD));
    await perform({ kind: 'deletePod', pod });
    await perform({ kind: 'deletePod', pod });
    const namesake = await store.put(PODS, without(POD));
    await perform({ kind: 'deletePod', pod });
    expect(store.all(PODS)).toEqual([namesake]);
    const deleted = 'StatefulSet Normal SuccessfulDelete: Delete Pod web-1 in StatefulSet web successful';
    expect(events).toEqual([deleted, deleted]);
  });

  it('fails by a conflict about a pod that is still there, so that its deletion is tried again', async () => {
    const busy = new StatusError('Conflict', 'the object has been modified');
    const { store, perform } = setUp((what) => (what === 'delete pods' ? busy : undefined));
    const pod = await store.put(PODS, without(POD));
    await expect(perform({ kind: 'deletePod', pod })).rejects.toThrow('the object has been modified');
  });

  it('reports a refused deletion', async () => {
    const { store, events, perform } = setUp((what) => (what === 'delete pods' ? QUOTA : undefined));
    const pod = await store.put(PODS, without(POD));
    await expect(perform({ kind: 'deletePod', pod })).rejects.toThrow('exceeded quota');
    expect(events).toEqual([
      'StatefulSet Warning FailedDelete: Delete Pod web-1 in StatefulSet web failed error: exceeded quota',
    ]);
  });

  it('repairs a pod as it was seen, and gives its claims their owners', async () => {
    const { store, events, perform } = setUp();
    const pod = await store.put(PODS, without(POD));
    const claim = await store.put(PERSISTENT_VOLUME_CLAIMS, newClaim(SET, claimTemplate('data'), 1));
    const repaired = { ...pod, metadata: { ...pod.metadata, labels: { app: 'b' } } };
    const claims = { create: [], owners: [{ claim, owners: [controllerReference(SET)] }] };
    await perform({ kind: 'repairPod', pod, repaired, claims });
    expect(store.all(PODS)[0]?.metadata.labels).toEqual({ app: 'b' });
    expect(store.all(PERSISTENT_VOLUME_CLAIMS)[0]?.metadata.ownerReferences).toEqual([controllerReference(SET)]);
    // This view is from before the first repair. The write is refused and tried again without an Event.
    await expect(perform({ kind: 'repairPod', pod, repaired, claims: NONE })).rejects.toMatchObject({
      reason: 'Conflict',
    });
    expect(events).toEqual(['StatefulSet Normal SuccessfulUpdate: Update Pod web-1 in StatefulSet web successful']);
  });

  it('reports a pod and a claim that cannot be changed', async () => {
    const invalid = new StatusError('Invalid', 'volumes are immutable');
    const { store, events, perform } = setUp((what) => (what.startsWith('update') ? invalid : undefined));
    const pod = await store.put(PODS, without(POD));
    const claim = await store.put(PERSISTENT_VOLUME_CLAIMS, newClaim(SET, claimTemplate('data'), 1));
    await expect(perform({ kind: 'repairPod', pod, repaired: pod, claims: NONE })).rejects.toThrow('immutable');
    const claims = { create: [], owners: [{ claim, owners: [] }] };
    await expect(perform({ kind: 'changeClaims', pod, claims })).rejects.toThrow('immutable');
    expect(events).toEqual([
      'StatefulSet Warning FailedUpdate: Update Pod web-1 in StatefulSet web failed error: volumes are immutable',
      'StatefulSet Warning FailedUpdate: Update Pod web-1 in StatefulSet web failed error: could not update claim data-web-1 for delete policy ownerRefs: volumes are immutable',
    ]);
  });

  it('writes no pod where only claims change, and reports the update', async () => {
    const { store, events, perform } = setUp();
    await perform({ kind: 'repairPod', pod: POD, repaired: undefined, claims: NONE });
    expect(store.writes).toEqual([]);
    expect(events).toHaveLength(1);
  });
});
