import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { type EventRecorder, Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import { NODES, type Pod, POD_DISRUPTION_BUDGETS, PODS, StatusError } from '@gantry/objects';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClusterView, SCHEDULED_RESOURCES } from './cluster-view.ts';
import { SchedulingQueue } from './queue.ts';
import { runCycle } from './scheduler.ts';
import { exampleBudget, exampleNode, examplePod } from './testing/examples.ts';

const FINALIZER = 'example.dev/takes-time';

/** An API server, and schedulers that lead one after the other. */
async function startCluster() {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const signal = new AbortController().signal;
  await client.put(NODES, exampleNode('a', { cpu: '3' }));
  /** A pod on the node that takes time to terminate. */
  const run = (name: string, cpu: string, options: { priority?: number; app?: string; node?: string } = {}) => {
    const { priority = 0, app, node = 'a' } = options;
    const pod = examplePod(name, { cpu, node, spec: { priority } });
    const labels = app === undefined ? {} : { labels: { app } };
    return client.put(PODS, { ...pod, metadata: { ...pod.metadata, finalizers: [FINALIZER], ...labels } });
  };
  const wait = (name: string, cpu: string, priority: number, preemptionPolicy = 'PreemptLowerPriority') =>
    client.put(PODS, examplePod(name, { cpu, spec: { priority, preemptionPolicy } }));
  const pod = (name: string) => client.all(PODS).find(({ metadata }) => metadata.name === name);
  const terminating = () =>
    client
      .all(PODS)
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name);
  /** Ends the terminating pods. */
  const end = async () => {
    for (const name of terminating()) {
      const key = { namespace: 'default', name: name ?? '' };
      await client.patch(PODS, key, { merge: { metadata: { finalizers: null } } }, signal);
    }
  };
  /** Lets this many writes succeed and fails all later ones, as if the process was killed. */
  const endAfter = (writes: number) => {
    let left = writes;
    client.failNext(
      ({ verb }) => {
        if (verb === 'get' || verb === 'list' || verb === 'watch') return false;
        left -= 1;
        return left < 0;
      },
      StatusError.unavailable('the process has ended'),
      Number.POSITIVE_INFINITY,
    );
    return () => {
      left = Number.POSITIVE_INFINITY;
    };
  };
  return { clock, client, run, wait, pod, terminating, end, endAfter };
}

/** A scheduler whose caches follow the API server. */
async function startScheduler({ clock, client }: { clock: ManualClock; client: FakeObjectClient }) {
  const stop = new AbortController();
  const base = { clock, random: () => 0.5, log: silentLog };
  const informers = new Informers({ ...base, client, resources: SCHEDULED_RESOURCES });
  const queue = new SchedulingQueue(base);
  const view = new ClusterView(queue);
  informers.subscribe((event) => view.take(event));
  const following = informers.run(stop.signal);
  const kill = async () => {
    stop.abort();
    await following;
  };
  onTestFinished(kill);
  const told: string[] = [];
  const attempts: number[] = [];
  const events: EventRecorder = {
    event: ({ metadata }, _type, reason, message) => told.push(`${metadata.name} ${reason}: ${message}`),
  };
  const onPreemption = (victims: number) => attempts.push(victims);
  const options = { ...base, client, cache: informers.cache, view, queue, events, onPreemption };
  /** Brings the caches up to date and runs cycles for this many seconds. */
  const cycles = async (seconds = 12) => {
    for (let i = 0; i < seconds * 2; i++) {
      await clock.advance(500);
      await (await runCycle(options, stop.signal)).written;
    }
  };
  await clock.advance(100);
  return { cycles, kill, told, attempts, view };
}

async function start() {
  const cluster = await startCluster();
  return { ...cluster, ...(await startScheduler(cluster)) };
}

const conditionOf = (pod: Pod | undefined, type: string) =>
  pod?.status?.conditions?.find((condition) => condition.type === type);

describe('a pod that preempts', () => {
  it('is nominated, then its victims are marked, then they are deleted; it is bound when they have ended', async () => {
    const { client, run, wait, pod, terminating, end, cycles, told, attempts } = await start();
    await run('x', '2');
    await run('y', '1', { priority: 7 });
    const { metadata } = await wait('p', '2', 5);
    const before = client.writes.length;
    await cycles();
    const writes = client.writes.slice(before).map((write) => [write.verb, 'key' in write ? write.key.name : '']);
    expect(writes).toEqual([
      ['patch', 'p'],
      ['patch', 'x'],
      ['delete', 'x'],
    ]);
    expect(client.writes.at(-1)).toMatchObject({ options: { preconditions: { uid: pod('x')?.metadata.uid } } });
    expect(pod('p')?.status?.nominatedNodeName).toBe('a');
    expect(conditionOf(pod('p'), 'PodScheduled')?.message).toBe('0/1 nodes are available: 1 Insufficient cpu.');
    expect(conditionOf(pod('x'), 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'PreemptionByScheduler',
      message: 'default-scheduler: preempting to accommodate a higher priority pod',
    });
    expect(terminating()).toEqual(['x']);
    expect(told).toEqual([
      'p FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.',
      `x Preempted: Preempted by pod ${metadata.uid} on node a`,
    ]);
    expect(attempts).toEqual([1]);
    await end();
    await cycles();
    expect(pod('p')?.spec?.nodeName).toBe('a');
    expect(pod('y')?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('waits, by the policy Never', async () => {
    const { run, wait, pod, terminating, cycles } = await start();
    await run('x', '3');
    await wait('p', '2', 5, 'Never');
    await cycles();
    expect(terminating()).toEqual([]);
    expect(conditionOf(pod('p'), 'PodScheduled')?.message).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.',
    );
  });

  it('spares pods that a budget protects', async () => {
    const { client, run, wait, terminating, cycles } = await start();
    await client.put(POD_DISRUPTION_BUDGETS, exampleBudget('safe', 0));
    await run('x', '2', { app: 'safe' });
    await run('y', '1', { priority: 3 });
    await wait('p', '1', 5);
    await cycles();
    expect(terminating()).toEqual(['y']);
  });

  it('keeps the room of its victims from the pods that replace them', async () => {
    const { run, wait, pod, terminating, end, cycles } = await start();
    await run('x', '1');
    await run('y', '2', { priority: 1 });
    await wait('p', '3', 5);
    await cycles();
    expect(terminating()).toEqual(['x', 'y']);
    await wait('x2', '1', 0);
    await wait('y2', '2', 1);
    await end();
    await cycles();
    expect(['p', 'x2', 'y2'].map((name) => pod(name)?.spec?.nodeName)).toEqual(['a', undefined, undefined]);
    expect(terminating()).toEqual([]);
  });

  it('takes the nomination of a pod of lower priority, which then has its own try', async () => {
    const { client, run, wait, pod, end, cycles } = await start();
    await run('x', '3');
    await wait('low', '2', 1);
    await cycles();
    expect(pod('low')?.status?.nominatedNodeName).toBe('a');
    await client.put(NODES, exampleNode('b', { cpu: '1' }));
    await wait('high', '2', 5);
    await cycles();
    expect(pod('high')?.status?.nominatedNodeName).toBe('a');
    expect(pod('low')?.status?.nominatedNodeName).toBeUndefined();
    await end();
    await cycles();
    expect(pod('high')?.spec?.nodeName).toBe('a');
    expect(pod('low')?.spec?.nodeName).toBeUndefined();
  });

  it('that is deleted gives its room to the pods that waited for it', async () => {
    const { client, run, wait, pod, end, cycles } = await start();
    await run('x', '3');
    await wait('p', '2', 5);
    await cycles();
    await end();
    // The cache shows both at once. The nominated room is free only when the pod is gone.
    await wait('q', '2', 5);
    await client.delete(PODS, { namespace: 'default', name: 'p' }, {}, new AbortController().signal);
    await cycles();
    expect(pod('q')?.spec?.nodeName).toBe('a');
  });

  it.each([
    ['its nomination', 0],
    ['the mark of its victim', 1],
    ['the deletion of its victim', 2],
  ])('is tried again a second after an outage in which %s could not be written', async (_, writes) => {
    const { run, wait, terminating, cycles, endAfter } = await start();
    await run('x', '2');
    const heal = endAfter(writes);
    await wait('p', '2', 5);
    await cycles(40);
    expect(terminating()).toEqual([]);
    heal();
    await cycles(2);
    expect(terminating()).toEqual(['x']);
  });

  it('evicts none when its nomination cannot be written', async () => {
    const { client, run, wait, terminating, cycles } = await start();
    await run('x', '3');
    await wait('p', '2', 5);
    client.failNext(({ verb, name }) => verb === 'patch' && name === 'p', StatusError.unavailable('not now'), 1);
    await cycles(1);
    expect(client.writes.map(({ verb }) => verb)).toEqual(['patch']);
    expect(terminating()).toEqual([]);
    await cycles();
    expect(terminating()).toEqual(['x']);
  });

  it.each(['patch', 'delete'])('tries again soon when the %s of a victim fails', async (verb) => {
    const { client, run, wait, terminating, cycles } = await start();
    await run('x', '3');
    await wait('p', '2', 5);
    client.failNext((call) => call.verb === verb && call.name === 'x', StatusError.unavailable('not now'), 1);
    await cycles(1);
    expect(terminating()).toEqual([]);
    await cycles(4);
    expect(terminating()).toEqual(['x']);
  });

  it.each([
    [1, 'it is nominated'],
    [2, 'its victim is marked'],
  ])('does not delete another pod that has the name of its victim after batch %i: %s', async (after) => {
    const { clock, client, run, wait, end, pod } = await startCluster();
    const scheduler = await startScheduler({ clock, client });
    await run('x', '3');
    await wait('p', '2', 5);
    await clock.advance(100);
    // The cache shows the victim, but the store has its successor when the first write arrives.
    const original = client.batch.bind(client);
    let batches = 0;
    client.batch = async (writes, signal) => {
      const results = await original(writes, signal);
      batches += 1;
      if (batches === after) {
        await client.delete(PODS, { namespace: 'default', name: 'x' }, {}, signal);
        await end();
        await run('x', '3', { priority: 9 });
      }
      return results;
    };
    await scheduler.cycles();
    expect(pod('x')?.spec?.priority).toBe(9);
    expect(pod('x')?.metadata.deletionTimestamp).toBeUndefined();
    expect(conditionOf(pod('x'), 'DisruptionTarget')).toBeUndefined();
  });
});

describe('a scheduler that ends in the middle of a preemption', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'after %i writes is followed by one that evicts what was left, and no more',
    async (n) => {
      const cluster = await startCluster();
      const { client, run, wait, pod, end, endAfter, terminating } = cluster;
      await client.put(NODES, exampleNode('b', { cpu: '3' }));
      for (const node of ['a', 'b']) for (const i of [1, 2, 3]) await run(`${node}${i}`, '1', { node });
      await wait('p', '3', 5);
      const first = await startScheduler(cluster);
      const revive = endAfter(n);
      await first.cycles(2);
      await first.kill();
      revive();
      const second = await startScheduler(cluster);
      const all = new Set<string | undefined>();
      for (let i = 0; i < 3; i++) {
        await second.cycles();
        for (const name of terminating()) all.add(name);
        await end();
      }
      await second.cycles();
      const nodeName = pod('p')?.spec?.nodeName ?? '';
      expect(all).toEqual(new Set([1, 2, 3].map((i) => `${nodeName}${i}`)));
      expect(client.all(PODS)).toHaveLength(4);
    },
  );
});

describe('a scheduler whose cache is late', () => {
  /** The cache shows only what `see` is called with. */
  async function startLate() {
    const cluster = await startCluster();
    const { clock, client } = cluster;
    const queue = new SchedulingQueue({ clock, random: () => 0.5 });
    const view = new ClusterView(queue);
    const events: EventRecorder = { event: () => undefined };
    const options = {
      client,
      cache: undefined as never,
      view,
      queue,
      events,
      clock,
      random: () => 0.5,
      log: silentLog,
    };
    const see = (pod: Pod, old?: Pod) =>
      view.take({ kind: 'changed', resource: PODS, changes: [{ object: pod, old }] });
    for (const node of client.all(NODES))
      view.take({ kind: 'changed', resource: NODES, changes: [{ object: node, old: undefined }] });
    const cycle = async () => {
      await clock.advance(20_000);
      queue.move(() => true);
      await (await runCycle(options, new AbortController().signal)).written;
    };
    return { ...cluster, view, see, cycle };
  }

  it('chooses no further victims for a pod, and none of them for another one', async () => {
    const { run, wait, see, cycle, terminating, pod } = await startLate();
    for (const name of ['x', 'y', 'z']) see(await run(name, '1'));
    see(await wait('p', '1', 5));
    await cycle();
    expect(terminating()).toHaveLength(1);
    await cycle();
    await cycle();
    expect(terminating()).toHaveLength(1);
    see(await wait('q', '1', 4));
    await cycle();
    expect(terminating()).toHaveLength(2);
    expect(pod('q')?.status?.nominatedNodeName).toBe('a');
  });

  it('does not go back to a version from before its own write', async () => {
    const { run, wait, see, cycle, terminating, view } = await startLate();
    const victim = await run('x', '3');
    const waiting = await wait('p', '1', 5);
    see(victim);
    see(waiting);
    await cycle();
    const marked: Pod = { ...waiting, metadata: { ...waiting.metadata, labels: { late: 'yes' } } };
    see(marked, waiting);
    see({ ...victim, metadata: { ...victim.metadata, labels: { late: 'yes' } } }, victim);
    expect(view.keeper.nominated('default/p')).toBeDefined();
    expect(view.keeper.placed('default/x')?.pod.metadata.deletionTimestamp).toBeDefined();
    await cycle();
    expect(terminating()).toEqual(['x']);
  });

  it('forgets a victim that was gone at once when the cache shows that', async () => {
    const { client, wait, see, cycle, view } = await startLate();
    const victim = await client.put(PODS, examplePod('x', { cpu: '3', node: 'a' }));
    see(victim);
    see(await wait('p', '1', 5));
    await cycle();
    expect(client.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['p']);
    expect(view.keeper.placed('default/x')?.pod.metadata.deletionTimestamp).toBeDefined();
    view.take({ kind: 'changed', resource: PODS, changes: [{ object: undefined, old: victim }] });
    expect(view.keeper.placed('default/x')).toBeUndefined();
    await cycle();
    expect(client.all(PODS)[0]?.spec?.nodeName).toBe('a');
  });
});
