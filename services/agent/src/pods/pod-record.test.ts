import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { recall, recordOf } from './pod-record.ts';
import { createWorkerMemory } from './worker-memory.ts';
import { type NodeOptions, soon, startNode, type TestNode } from '../testing/start-node.ts';

const GRACE_SECONDS = 30;
const HOOKED = pod({
  containers: [container('main', { lifecycle: { preStop: { exec: { command: ['drain'] } } } })],
  terminationGracePeriodSeconds: GRACE_SECONDS,
});

/** What an agent does. */
interface Deeds {
  /** `COMMAND` of each hook, and `stop in SECONDS` of the first stop; a stop is repeated if the pod was listed before it was visible. */
  readonly log: string[];
  readonly hook: 'ends' | 'waits';
}

const deedsOf = (hook: Deeds['hook']): Deeds => ({ log: [], hook });

/** Starts an agent that writes down what it does. Containers take an hour to end. */
async function startAgent({ log, hook }: Deeds, world?: TestNode): Promise<TestNode> {
  const wrap: NodeOptions['wrap'] = (hollow) => ({
    ...hollow,
    containers: {
      ...hollow.containers,
      exec: async (_id, [name = ''], signal) => {
        log.push(name);
        if (hook === 'waits') await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
        return { exitCode: 0, output: '' };
      },
      stopContainer: async (id, seconds, signal) => {
        if (!log.some((deed) => deed.startsWith('stop'))) log.push(`stop in ${Math.round(seconds)}`);
        await hollow.containers.stopContainer(id, seconds, signal);
      },
    },
  });
  return await startNode({ wrap, behaviour: { stopMs: 3_600_000 }, ...(world === undefined ? {} : { world }) });
}

async function begin(object: Pod, deeds: Deeds) {
  const node = await startAgent(deeds);
  const { metadata } = await node.put({
    ...object,
    metadata: { ...object.metadata, finalizers: ['example.com/keep'] },
  });
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  return { node, uid, at: { namespace: 'default', name: metadata.name ?? '' } };
}

/** Ends the agent, and starts another one on the same node. */
async function succeed(world: TestNode, uid: string, deeds: Deeds): Promise<TestNode> {
  await world.end();
  const node = await startAgent(deeds, world);
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  return node;
}

it('an agent that starts again during a stop does not repeat the hook, and kills when the first one would have', async () => {
  const [first, second] = [deedsOf('ends'), deedsOf('ends')];
  const { node, uid, at } = await begin(HOOKED, first);
  await node.client.delete(PODS, at, {}, node.stop.signal);
  await soon(node, () => first.log).toEqual(['drain', 'stop in 30']);
  await node.clock.advance(20_000);
  const next = await succeed(node, uid, second);
  await soon(next, () => second.log).toEqual(['stop in 10']);
});

it('a hook that its agent did not see end runs again, for the rest of the grace period', async () => {
  const [first, second] = [deedsOf('waits'), deedsOf('waits')];
  const { node, uid, at } = await begin(HOOKED, first);
  await node.client.delete(PODS, at, {}, node.stop.signal);
  await soon(node, () => first.log).toEqual(['drain']);
  await node.clock.advance(12_000);
  const next = await succeed(node, uid, second);
  await soon(next, () => second.log).toEqual(['drain']);
  await next.clock.advance(GRACE_SECONDS * 1000 - 12_000);
  await soon(next, () => second.log).toEqual(['drain', 'stop in 2']);
});

it('an agent that starts again goes on with an eviction', async () => {
  const [first, second] = [deedsOf('ends'), deedsOf('ends')];
  const { node, uid } = await begin(pod({}), first);
  const [object = pod({})] = node.client.all(PODS);
  node.evictions.evict(object, { message: 'no memory', graceSeconds: 5, cause: 'node-pressure' });
  await soon(node, () => first.log).toEqual(['stop in 5']);
  await node.clock.advance(2_000);
  const next = await succeed(node, uid, second);
  await soon(next, () => second.log).toEqual(['stop in 3']);
  expect(next.evictions.evictionOf(uid)?.message).toBe('no memory');
  expect(next.events.filter((event) => event.includes('Evicted'))).toEqual([]);
});

it('a pull that failed is tried again when its back-off ends, also by the next agent', async () => {
  let pulls = 0;
  const counted: NodeOptions['wrap'] = (hollow) => ({
    ...hollow,
    images: {
      ...hollow.images,
      pullImage: async (...of: Parameters<typeof hollow.images.pullImage>) => {
        pulls++;
        await hollow.images.pullImage(...of);
      },
    },
  });
  const node = await startNode({ wrap: counted });
  const { metadata } = await node.put(pod({ containers: [container('main', { image: 'absent:1' })] }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  const waiting = () => node.client.all(PODS)[0]?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
  await soon(node, waiting).toBe('ImagePullBackOff');
  await node.clock.advance(10_000);
  await soon(node, () => pulls).toBe(2);
  await soon(node, waiting).toBe('ImagePullBackOff');
  await node.end();
  const next = await startNode({ wrap: counted, world: node });
  await soon(next, () => next.pods.get(uid)).toBeDefined();
  next.work(uid);
  await next.clock.advance(15_000);
  expect(pulls).toBe(2);
  await next.clock.advance(6_000);
  await soon(next, () => pulls).toBe(3);
});

it('no back-off becomes longer because the clock is behind', async () => {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const memory = createWorkerMemory();
  const now = clock.now();
  const entry = { reason: 'ErrImagePull', message: 'no', failures: 2, failedAt: now, retryAt: now + 20_000 };
  memory.backOffs.set('main', entry);
  const behind = new ManualClock(Date.parse('1970-01-01T00:00:00Z'));
  const recalled = createWorkerMemory();
  recall(recordOf(memory, clock, 'a'), recalled, behind, 'a');
  expect((recalled.backOffs.get('main')?.retryAt ?? 0) - behind.now()).toBe(20_000);
});

it('a restart of the machine ends all delays, and nothing else', async () => {
  const clock = new ManualClock();
  const memory = createWorkerMemory();
  const now = clock.now();
  const entry = { reason: 'ErrImagePull', message: 'no', failures: 2, failedAt: now, retryAt: now + 20_000 };
  memory.backOffs.set('main', entry);
  memory.restartDelays = new Map([['main', 40_000]]);
  memory.failedPostStart.add('id');
  memory.eviction = { message: 'no memory', graceSeconds: 5, cause: 'node-pressure' };
  const recalledBy = (machineStart: string) => {
    const recalled = createWorkerMemory();
    const eviction = recall(recordOf(memory, clock, 'a'), recalled, clock, machineStart);
    expect([eviction?.message, recalled.failedPostStart.size]).toEqual(['no memory', 1]);
    return [recalled.backOffs.size, recalled.restartDelays.size];
  };
  expect(recalledBy('a')).toEqual([1, 1]);
  expect(recalledBy('b')).toEqual([0, 0]);
});

it('a record that was written only in part counts as none', async () => {
  const [first, second] = [deedsOf('ends'), deedsOf('ends')];
  const { node, uid, at } = await begin(HOOKED, first);
  await node.client.delete(PODS, at, {}, node.stop.signal);
  await soon(node, () => first.log).toEqual(['drain', 'stop in 30']);
  await node.end();
  await writeFile(join(node.path, 'pods', uid, 'record.json'), '{"version":1,"en');
  const next = await succeed(node, uid, second);
  await soon(next, () => second.log).toEqual(['drain', 'stop in 30']);
});
