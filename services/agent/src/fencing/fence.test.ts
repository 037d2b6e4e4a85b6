import { ManualClock } from '@gantry/base/testing';
import { untilAborted } from '@gantry/base';
import { createObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import type { Pod } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { pod } from '../testing/pods.ts';
import { type NodeOptions, OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';
import { Fence } from './fence.ts';
import { HOLD_MS, Renewals } from './renewals.ts';

const AFTER_MS = 30_000;
const OF_STATEFUL_SET = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true }],
};

/** A node whose heartbeats the test sends. */
async function startFenced(world?: TestNode, wrapClient?: NodeOptions['wrapClient']) {
  const clock = world?.clock ?? new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const renewals = new Renewals(clock);
  const fence = new Fence({ renewals, afterMs: AFTER_MS, clock, logger: silentLogger });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const tenure = () => renewals.tenure();
  const node = await startNode({ world: world ?? worldOf(clock), fence, tenure, wrapClient });
  void fence.run(stop.signal);
  const renew = () => renewals.renewed(clock.monotonicMs());
  const passes = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) await clock.advance(500);
  };
  return { node, renew, passes };
}

/** The clock and the API of a node that is to be started. */
function worldOf(clock: ManualClock): TestNode {
  return { clock, client: new FakeObjectClient(clock) } as TestNode;
}

const containers = async (node: TestNode) => {
  const [state] = await node.hollow.observer.listPods(OWNER);
  return (state?.containers ?? []).map(({ attempt, state: is }) => `${attempt} ${is}`);
};

async function startPod({ node, renew }: Awaited<ReturnType<typeof startFenced>>, object: Pod) {
  renew();
  const { metadata } = await node.put(object);
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  const worker = node.work(uid);
  await soon(node, () => {
    renew();
    return containers(node);
  }).toEqual(['0 running']);
  return { uid, worker };
}

it('stops pods that run at most once after half a minute without a renewal, not before, and starts them again', async () => {
  const fenced = await startFenced();
  const { node, renew, passes } = fenced;
  await startPod(fenced, pod({ terminationGracePeriodSeconds: 1 }, {}, OF_STATEFUL_SET));
  await passes(AFTER_MS - 1_000);
  expect(await containers(node)).toEqual(['0 running']);
  await passes(4_000);
  await soon(node, () => containers(node)).toEqual(['0 exited']);
  await passes(60_000);
  expect(await containers(node)).toEqual(['0 exited']);
  renew();
  await soon(node, () => {
    renew();
    return containers(node);
  }).toEqual(['1 running', '0 exited']);
});

it('starts no container of a pod that runs at most once while it does not hold its Lease, before it is cut off too', async () => {
  const fenced = await startFenced();
  const { node, renew, passes } = fenced;
  await startPod(fenced, pod({}, {}, OF_STATEFUL_SET));
  await passes(HOLD_MS);
  const [state] = await node.hollow.observer.listPods(OWNER);
  node.hollow.exit(state?.containers[0]?.id ?? '', 1);
  await passes(5_000);
  expect(await containers(node)).toEqual(['0 exited']);
  renew();
  await soon(node, () => {
    renew();
    return containers(node);
  }).toEqual(['1 running', '0 exited']);
});

it('lets other pods run, and starts their containers again, however long the node is cut off', async () => {
  const fenced = await startFenced();
  const { node, passes } = fenced;
  await startPod(fenced, pod());
  await passes(AFTER_MS + 10_000);
  expect(await containers(node)).toEqual(['0 running']);
  const [state] = await node.hollow.observer.listPods(OWNER);
  node.hollow.exit(state?.containers[0]?.id ?? '', 1);
  await soon(node, () => containers(node)).toEqual(['1 running', '0 exited']);
});

it('stops by their labels the pods of an agent that was started again while it is cut off, and removes nothing', async () => {
  const first = await startFenced();
  const { uid } = await startPod(first, pod({ terminationGracePeriodSeconds: 1 }, {}, OF_STATEFUL_SET));
  await first.node.end();
  const silent = async (signal: AbortSignal): Promise<never> => {
    await untilAborted(signal);
    throw signal.reason;
  };
  const { node, passes } = await startFenced(first.node, () =>
    createObjectClient({
      get: (_resource, _key, signal) => silent(signal),
      list: (_resource, _options, signal) => silent(signal),
      async *watch(_resource, _options, signal) {
        yield await silent(signal);
      },
      write: (_write, signal) => silent(signal),
      batch: (_writes, signal) => silent(signal),
    }),
  );
  node.work(uid);
  await passes(AFTER_MS - 1_000);
  expect(await containers(node)).toEqual(['0 running']);
  await passes(4_000);
  await soon(node, () => containers(node)).toEqual(['0 exited']);
});
