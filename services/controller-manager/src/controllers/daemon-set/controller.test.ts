import { must } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import { CONTROLLER_REVISIONS, DAEMON_SETS, type DaemonSet, NODES, type Pod, PODS, StatusError } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { collectingMs, concernsSet, createDaemonSetController, FailedPods } from './controller.ts';
import { orderHistory } from './history.ts';
import { daemonPodMaker, targetNode } from './placement.ts';
import { exampleNode, exampleSet } from './testing/world.ts';

const KEY = { namespace: 'n', name: 'set' };

describe('the daemon set controller', () => {
  let harness: ControllerHarness;
  beforeEach(async () => {
    harness = createControllerHarness();
    for (const name of ['a', 'b']) await harness.client.put(NODES, exampleNode(name));
  });

  const start = async (meanwhile?: (write: ObjectWrite) => Promise<void>, spec = {}) => {
    await harness.client.put(DAEMON_SETS, exampleSet(spec));
    harness.run([createDaemonSetController()], meanwhile === undefined ? {} : { meanwhile });
    await harness.clock.advance(50);
  };
  const pods = () => harness.client.all(PODS);
  const status = () => harness.client.all(DAEMON_SETS)[0]?.status;
  const told = () => harness.events('DaemonSet').map(({ type, reason, message }) => [type, reason, message].join(' '));
  const report = async (pod: Pod, change: NonNullable<Pod['status']>) => {
    const { namespace = '', name = '' } = pod.metadata;
    const patch = { merge: { status: change }, subresource: 'status' } as const;
    await harness.client.patch(PODS, { namespace, name }, patch, harness.stop.signal);
    await harness.clock.advance(50);
  };
  const isCreate = (write: ObjectWrite, resource: string) =>
    write.verb === 'create' && write.resource.resource === resource;

  it('gives every node its pod, and is at rest then', async () => {
    await start();
    expect(pods().map(targetNode).sort()).toEqual(['a', 'b']);
    expect(status()).toMatchObject({ desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2 });
    expect(told().filter((text) => text.startsWith('Normal SuccessfulCreate Created pod: set-'))).toHaveLength(2);
    const { length } = harness.client.writes;
    await harness.clock.advance(60_000);
    const later = harness.client.writes.slice(length);
    // Only the leader's Lease is written.
    expect(new Set(later.map(({ resource }) => resource.resource))).toEqual(new Set(['leases']));
  });

  it('has a status that says how far it came when pods are refused, and tries one pod at a time', async () => {
    let refused = 0;
    await start(async (write) => {
      if (!isCreate(write, 'pods')) return;
      refused += 1;
      throw new StatusError('Forbidden', 'exceeded quota');
    });
    expect(status()).toMatchObject({ desiredNumberScheduled: 2, currentNumberScheduled: 0, observedGeneration: 1 });
    expect(told().every((text) => text === 'Warning FailedCreate Error creating: exceeded quota')).toBe(true);
    expect(refused).toBeGreaterThan(0);
    const reconciles = harness.events('DaemonSet').reduce((sum, { count = 0 }) => sum + count, 0);
    expect(refused).toBe(reconciles);
  });

  it('goes on after a crash between the revision and the pods', async () => {
    const { actions } = orderHistory(exampleSet(), [], []);
    const [made] = actions;
    if (made?.kind !== 'createRevision') throw new Error('a revision');
    await harness.client.put(CONTROLLER_REVISIONS, made.revision);
    await start();
    expect(harness.client.all(CONTROLLER_REVISIONS)).toHaveLength(1);
    expect(pods()).toHaveLength(2);
  });

  it('counts a collision when another template has the name of its revision', async () => {
    const { actions } = orderHistory(exampleSet(), [], []);
    const [made] = actions;
    if (made?.kind !== 'createRevision') throw new Error('a revision');
    const { ownerReferences: _, labels: __, ...metadata } = made.revision.metadata;
    await harness.client.put(CONTROLLER_REVISIONS, {
      ...made.revision,
      metadata,
      data: { spec: { other: 'template' } },
    });
    await start();
    expect(status()).toMatchObject({ collisionCount: 1, desiredNumberScheduled: 2 });
    expect(harness.client.all(CONTROLLER_REVISIONS)).toHaveLength(2);
    expect(pods()).toHaveLength(2);
  });

  it('deletes a failed pod with a report, and the next one after a delay that grows', async () => {
    await start();
    const onA = () =>
      must(
        pods().find((pod) => targetNode(pod) === 'a'),
        'a pod',
      );
    const first = onA();
    await report(first, { phase: 'Failed' });
    const name = first.metadata.name ?? '';
    expect(told()).toContain(
      `Warning FailedDaemonPod Found failed daemon pod n/${name} on node a, will try to kill it`,
    );
    expect(told()).toContain(`Normal SuccessfulDelete Deleted pod: ${name}`);
    const second = onA();
    expect(second.metadata.name).not.toBe(name);
    await report(second, { phase: 'Failed' });
    await harness.clock.advance(500);
    expect(onA().metadata.name).toBe(second.metadata.name);
    await harness.clock.advance(1000);
    expect(onA().metadata.name).not.toBe(second.metadata.name);
  });

  it('follows the labels and taints of nodes', async () => {
    const { client, clock, stop } = harness;
    await start();
    await client.put(NODES, exampleNode('c'));
    await clock.advance(50);
    expect(pods().map(targetNode).sort()).toEqual(['a', 'b', 'c']);
    for (const pod of pods()) {
      const key = { namespace: 'n', name: pod.metadata.name ?? '' };
      await client.patch(PODS, key, { merge: { spec: { nodeName: targetNode(pod) } } }, stop.signal);
    }
    const taint = { merge: { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } } };
    await client.patch(NODES, { namespace: '', name: 'a' }, taint, stop.signal);
    await clock.advance(50);
    expect(pods().map(targetNode).sort()).toEqual(['b', 'c']);
    expect(status()).toMatchObject({ desiredNumberScheduled: 2, currentNumberScheduled: 2 });
  });

  it('adopts nothing for a set whose deletion the cache does not show yet', async () => {
    const { client, stop } = harness;
    await client.put(DAEMON_SETS, { ...exampleSet(), metadata: { ...exampleSet().metadata, finalizers: ['a/b'] } });
    const labels = { app: 'a' };
    await client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'orphan', namespace: 'n', labels } });
    let deletions = 0;
    const reach = async (_: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
      if (deletions > 0 || verb !== 'get' || resource !== 'daemonsets') return;
      deletions += 1;
      await client.delete(DAEMON_SETS, KEY, {}, stop.signal);
    };
    harness.run([createDaemonSetController()], { reach });
    await harness.clock.advance(50);
    expect(deletions).toBe(1);
    expect(pods().map(({ metadata }) => [metadata.name, metadata.ownerReferences])).toEqual([['orphan', undefined]]);
  });

  it('does nothing for a set that is being deleted, and reports one that selects all', async () => {
    await start(undefined, { selector: {} });
    expect(pods()).toEqual([]);
    expect(told()).toEqual([
      'Warning SelectingAll This daemon set is selecting all pods. A non-empty selector is required.',
    ]);
    await harness.client.delete(DAEMON_SETS, KEY, {}, harness.stop.signal);
  });
});

const make = daemonPodMaker(exampleSet(), 'h');
const pod = (ready: boolean, change: Partial<Pod> = {}): Pod => ({
  ...make('a'),
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  ...change,
});
const bound = (nodeName: string) => ({ spec: { containers: [], ...make('a').spec, nodeName } });
const set = (desired: number): DaemonSet => ({
  ...exampleSet(),
  status: { desiredNumberScheduled: desired, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
});

describe('a change of a pod', () => {
  it('concerns its set when it is counted otherwise or belongs to another node', () => {
    expect(concernsSet(pod(true), pod(false))).toBe(true);
    expect(concernsSet(pod(true, { status: { phase: 'Failed' } }), pod(false))).toBe(true);
    expect(concernsSet(pod(true, bound('b')), pod(true))).toBe(true);
    expect(concernsSet(pod(true, bound('a')), pod(true))).toBe(false);
    expect(concernsSet(pod(true), pod(true))).toBe(false);
  });

  it('waits for more in a large set, unless a node needs a pod', () => {
    expect(collectingMs(pod(true), pod(false), set(1000))).toBe(500);
    expect(collectingMs(pod(true), undefined, set(1000))).toBe(500);
    expect(collectingMs(pod(true), pod(false), set(99))).toBe(0);
    expect(collectingMs(pod(true), pod(false), undefined)).toBe(0);
    expect(collectingMs(undefined, pod(true), set(1000))).toBe(0);
    expect(collectingMs(pod(true, { status: { phase: 'Failed' } }), pod(true), set(1000))).toBe(0);
  });
});

const MINUTE_MS = 60_000;

it('doubles the delay from 1 second to 15 minutes', () => {
  const failed = new FailedPods();
  let now = 0;
  const delays: number[] = [];
  for (let i = 0; i < 12; i++) {
    expect(failed.waitsUntil('a', now)).toBeUndefined();
    failed.note('a', now);
    const until = failed.waitsUntil('a', now) ?? now;
    delays.push(until - now);
    now = until;
  }
  expect(delays.slice(0, 4)).toEqual([1000, 2000, 4000, 8000]);
  expect(delays.at(-1)).toBe(15 * MINUTE_MS);
});

it('is apart for each key, and forgets what was long ago', () => {
  const failed = new FailedPods();
  failed.note('a', 0);
  failed.note('a', 1000);
  expect(failed.waitsUntil('b', 1000)).toBeUndefined();
  const later = 31 * MINUTE_MS;
  failed.note('b', later);
  failed.note('a', later);
  expect(failed.waitsUntil('a', later)).toBe(later + 1000);
  failed.reset();
  expect(failed.waitsUntil('a', later)).toBeUndefined();
});
