import { NODES, type Pod, PODS, StatusError } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { ownWorkers, PodManager } from '../pods/pod-manager.ts';
import { pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type NodeOptions, type TestNode } from '../testing/start-node.ts';
import { MirrorPods } from './mirror-pods.ts';

const [ONE, TWO] = ['1'.repeat(32), '2'.repeat(32)];
const KEY = { namespace: 'default', name: 'web' };
const file = (uid: string): Pod =>
  pod(
    { nodeName: 'n', terminationGracePeriodSeconds: 1 },
    { phase: 'Pending' },
    { uid, annotations: { 'kubernetes.io/config.hash': uid } },
  );

/** Starts a node with its manager and its mirrors, like in an agent. */
async function startAgent(options: NodeOptions = {}) {
  const node = await startNode(options);
  const { services, stop, clock, pods } = node;
  await node.client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  const manager = new PodManager(services, ownWorkers(services));
  const { client, logger, random } = services;
  const mirrors = new MirrorPods({ client, node: 'n', pods, active: manager, clock, random, logger });
  const end = new AbortController();
  const signal = AbortSignal.any([stop.signal, end.signal]);
  const running = Promise.all([manager.run(signal), mirrors.run(signal)]);
  return { ...node, kill: async () => (end.abort(), await running) };
}

const running = async ({ hollow }: Pick<TestNode, 'hollow'>) => {
  const states = await hollow.observer.listPods(OWNER);
  return states.flatMap(({ identity, containers }) =>
    containers
      .filter(({ state }) => state === 'running')
      .map(({ name, attempt }) => `${identity.uid} ${name} ${attempt}`),
  );
};
const mirrors = ({ client }: Pick<TestNode, 'client'>) =>
  client
    .all(PODS)
    .map(({ metadata, status }) => [metadata.annotations?.['kubernetes.io/config.mirror'], status?.phase]);

it('runs with a mirror that shows its status, and ends with its file', async () => {
  const node = await startAgent();
  node.pods.replaceFiles([file(ONE)]);
  await soon(node, () => running(node)).toEqual([`${ONE} main 0`]);
  await soon(node, () => mirrors(node)).toEqual([[ONE, 'Running']]);
  node.pods.replaceFiles([]);
  await soon(node, () => running(node)).toEqual([]);
  await soon(node, () => mirrors(node)).toEqual([]);
});

it('is not touched by the deletion of its mirror, which is made again', async () => {
  const node = await startAgent();
  node.pods.replaceFiles([file(ONE)]);
  await soon(node, () => mirrors(node)).toEqual([[ONE, 'Running']]);
  const [before] = node.client.all(PODS);
  await node.client.delete(PODS, KEY, {}, node.stop.signal);
  await soon(node, () => {
    const [now] = node.client.all(PODS);
    return [now?.metadata.uid !== before?.metadata.uid, now?.status?.startTime];
  }).toEqual([true, before?.status?.startTime]);
  expect(await running(node)).toEqual([`${ONE} main 0`]);
});

it('waits, when its file changes, until the pod of before has ended', async () => {
  const node = await startAgent();
  node.pods.replaceFiles([file(ONE)]);
  await soon(node, () => mirrors(node)).toEqual([[ONE, 'Running']]);
  const seen: string[][] = [];
  node.pods.replaceFiles([file(TWO)]);
  await soon(node, async () => {
    const now = await running(node);
    seen.push(now);
    return now;
  }).toEqual([`${TWO} main 0`]);
  expect(seen.filter(({ length }) => length > 1)).toEqual([]);
  await soon(node, () => mirrors(node)).toEqual([[TWO, 'Running']]);
});

it('has a mirror within 1.2 s after an outage, however long that was', async () => {
  const node = await startAgent();
  let way: 'cut' | 'open' = 'cut';
  node.client.failNext(() => way === 'cut', StatusError.unavailable('down'), Number.POSITIVE_INFINITY);
  node.pods.replaceFiles([file(ONE)]);
  await node.clock.advance(120_000);
  way = 'open';
  await node.clock.advance(1200);
  expect(node.client.all(PODS).map(({ metadata }) => metadata.annotations?.['kubernetes.io/config.mirror'])).toEqual([
    ONE,
  ]);
});

it('runs while the API server is away, and its next agent goes on with it', async () => {
  const down = () => true;
  const first = await startAgent();
  first.client.failNext(down, StatusError.unavailable('down'), Number.POSITIVE_INFINITY);
  first.client.breakWatches();
  first.pods.replaceFiles([file(ONE)]);
  await soon(first, () => running(first)).toEqual([`${ONE} main 0`]);
  await soon(first, () => first.pods.get(ONE)?.status?.phase).toBe('Running');
  const { startTime } = first.pods.get(ONE)?.status ?? {};
  await first.kill();
  const next = await startNode({ world: first });
  const manager = new PodManager(next.services, ownWorkers(next.services));
  const ended = manager.run(next.stop.signal);
  // Its files have not been read yet, so the running pods stay.
  await next.clock.advance(5_000);
  expect(await running(next)).toEqual([`${ONE} main 0`]);
  next.pods.replaceFiles([file(ONE)]);
  await soon(next, () => next.pods.get(ONE)?.status?.phase).toBe('Running');
  expect(await running(next)).toEqual([`${ONE} main 0`]);
  expect(startTime).toBeDefined();
  next.pods.replaceFiles([]);
  await soon(next, () => running(next)).toEqual([]);
  next.stop.abort();
  await ended;
});

it('is found by the uid of its mirror, and by no object that only says it mirrors it', async () => {
  const node = await startAgent();
  node.pods.replaceFiles([file(ONE)]);
  await soon(node, () => mirrors(node)).toEqual([[ONE, 'Running']]);
  const uid = node.client.all(PODS)[0]?.metadata.uid ?? '';
  expect([node.pods.podUid(uid), node.pods.recordUid(ONE)]).toEqual([ONE, uid]);
  const annotations = { 'kubernetes.io/config.mirror': ONE, 'kubernetes.io/config.hash': ONE };
  const uidOfLiar = () => node.client.all(PODS).find(({ metadata }) => metadata.name === 'liar')?.metadata.uid;
  const seen = new Map<string, string>();
  // Runs at each change before the liar is removed.
  onTestFinished(
    node.pods.subscribe(() => {
      const liar = uidOfLiar();
      if (liar !== undefined) seen.set(liar, node.pods.podUid(liar));
    }),
  );
  const { metadata } = await node.client.put(
    PODS,
    pod({ nodeName: 'n' }, {}, { name: 'liar', annotations, uid: undefined }),
  );
  await soon(node, () => node.client.all(PODS).length).toBe(1);
  const { uid: liar = '' } = metadata;
  expect([...seen]).toEqual([[liar, liar]]);
  expect(await running(node)).toEqual([`${ONE} main 0`]);
});
