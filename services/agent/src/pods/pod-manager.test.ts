import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { PodFilter, PodState } from '../runtime/observer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';
import { ownWorkers, PodManager } from './pod-manager.ts';

/** How often the containers of all pods were listed, and how often those of one pod. */
interface Lists {
  all: number;
  one: number;
  /** For each new sandbox: how often single pods had been listed before, and its specification. */
  readonly atSandboxes: number[];
  readonly sandboxes: SandboxSpec[];
  /** Delays the next list of all pods after the engine has made it. */
  hold: Promise<void> | undefined;
  /** The engine reports changes until this is aborted. */
  reports: AbortController;
}

const noLists = (): Lists => ({
  all: 0,
  one: 0,
  atSandboxes: [],
  sandboxes: [],
  hold: undefined,
  reports: new AbortController(),
});

function counted(lists: Lists): (runtime: HollowRuntime) => Runtime {
  return (runtime) => ({
    sandboxes: {
      ...runtime.sandboxes,
      createSandbox: (spec, ...rest) => {
        lists.atSandboxes.push(lists.one);
        lists.sandboxes.push(spec);
        return runtime.sandboxes.createSandbox(spec, ...rest);
      },
    },
    podGroups: runtime.podGroups,
    containers: runtime.containers,
    pauses: runtime.pauses,
    images: runtime.images,
    imageVolumes: runtime.imageVolumes,
    imageFiles: runtime.imageFiles,
    logs: runtime.logs,
    stats: runtime.stats,
    streams: runtime.streams,
    engine: runtime.engine,
    observer: {
      watch: async function* (cluster, signal) {
        const until = AbortSignal.any([signal, lists.reports.signal]);
        until.throwIfAborted();
        yield* runtime.observer.watch(cluster, until);
      },
      listPods: async (filter: PodFilter): Promise<readonly PodState[]> => {
        const found = await runtime.observer.listPods(filter);
        lists[filter.podUid === undefined ? 'all' : 'one']++;
        if (filter.podUid === undefined) await lists.hold;
        return found;
      },
    },
  });
}

async function manage(count: number): Promise<{ readonly node: TestNode; readonly lists: Lists }> {
  const lists = noLists();
  const node = await startNode({ wrap: counted(lists) });
  for (let index = 0; index < count; index++) {
    const probe = { tcpSocket: { port: 1 }, periodSeconds: 5, failureThreshold: 1000 };
    await node.put(pod({ containers: [container('main', { livenessProbe: probe })] }, {}, { name: `pod-${index}` }));
  }
  await soon(node, () => node.pods.list().length).toBe(count);
  void new PodManager(node.services, ownWorkers(node.services)).run(node.stop.signal);
  const running = () => node.client.all(PODS).filter(({ status }) => status?.phase === 'Running').length;
  await soon(node, running).toBe(count);
  return { node, lists };
}

const minutes = async ({ clock }: TestNode, count: number) => {
  for (let second = 0; second < count * 60; second++) await clock.advance(1000);
};

it('pods at rest are listed once a minute, all together', async () => {
  const { node, lists } = await manage(20);
  await minutes(node, 1);
  lists.all = 0;
  lists.one = 0;
  await minutes(node, 10);
  expect(lists).toMatchObject({ all: 10, one: 0 });
});

/** Makes a change that the agent is notified of and that changes nothing in the engine. */
const label = async ({ client, clock, stop }: TestNode, value: string) => {
  for (const { metadata } of client.all(PODS)) {
    const patch = { merge: { metadata: { labels: { value } } } };
    await client.patch(PODS, { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }, patch, stop.signal);
  }
  await clock.advance(1000);
};

it('a change of pods alone lists nothing, unless the engine does not report its own changes', async () => {
  const { node, lists } = await manage(3);
  await minutes(node, 1);
  lists.one = 0;
  await label(node, 'first');
  expect(lists.one).toBe(0);
  lists.reports.abort();
  await label(node, 'second');
  expect(lists.one).toBe(3);
  await label(node, 'third');
  expect(lists.one).toBe(6);
});

it('a new pod is not listed before its first containers are made', async () => {
  const { node, lists } = await manage(1);
  lists.one = 0;
  await node.put(pod({}, {}, { name: 'new' }));
  const running = () => node.client.all(PODS).filter(({ status }) => status?.phase === 'Running').length;
  await soon(node, running).toBe(2);
  expect(lists.atSandboxes.slice(1)).toEqual([0]);
});

it('a pod of which the engine had something before the API server is listed first', async () => {
  const { node, lists } = await manage(1);
  const [made = expect.unreachable()] = lists.sandboxes;
  const late = pod({ hostNetwork: true, nodeName: 'another' }, {}, { name: 'late' });
  const { metadata } = await node.client.put(PODS, late);
  const identity = { namespace: 'default', name: 'late', uid: metadata.uid ?? '' };
  const spec = { ...made, pod: identity, network: { kind: 'host' } as const };
  await node.hollow.sandboxes.createSandbox(spec, node.stop.signal);
  const bound = { merge: { spec: { nodeName: OWNER.node } } };
  await node.client.patch(PODS, { namespace: 'default', name: 'late' }, bound, node.stop.signal);
  const running = () => node.client.all(PODS).filter(({ status }) => status?.phase === 'Running').length;
  await soon(node, running).toBe(2);
  expect(lists.sandboxes).toHaveLength(1);
});

it('what was found before the engine reported nothing is not used when it reports again', async () => {
  const { node, lists } = await manage(1);
  const states = async () => (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.containers ?? [];
  const [first] = await states();
  lists.reports.abort();
  await node.clock.advance(1);
  node.hollow.exit(first?.id ?? '', 1);
  const held = Promise.withResolvers<void>();
  Object.assign(lists, { all: 0, one: 0, hold: held.promise, reports: new AbortController() });
  await soon(node, () => lists.all).toBe(1);
  expect(lists.one).toBe(0);
  await label(node, 'changed');
  await soon(node, async () => (await states()).map(({ state }) => state)).toEqual(['running', 'exited']);
  held.resolve();
});

it('a container that went without an event is found by the list, and one that came to be meanwhile is not made twice', async () => {
  const { node, lists } = await manage(1);
  const states = async () => (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.containers ?? [];
  const [first] = await states();
  const held = Promise.withResolvers<void>();
  lists.hold = held.promise;
  await minutes(node, 1);
  // The list was made before the container's end, and arrives after its successor was started.
  node.hollow.exit(first?.id ?? '', 1);
  await soon(node, async () => (await states()).map(({ state }) => state)).toEqual(['running', 'exited']);
  lists.hold = undefined;
  held.resolve();
  await minutes(node, 2);
  expect((await states()).map(({ attempt, state }) => [attempt, state])).toEqual([
    [1, 'running'],
    [0, 'exited'],
  ]);
});

it('what a list says of a pod is not used when the pod has changed since the list began', async () => {
  const lists = noLists();
  const node = await startNode({ wrap: counted(lists) });
  const { uid = '' } = (await node.put(pod())).metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  const worker = node.work(uid);
  const before = worker.epoch;
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  await node.clock.advance(1000);
  lists.one = 0;
  worker.relisted(undefined, before);
  await soon(node, () => lists.one).toBe(1);
  await node.clock.advance(1000);
  expect(node.events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  // The current state is used: the pod is not listed again.
  const [state] = await node.hollow.observer.listPods({ cluster: 'c' });
  worker.relisted(state, worker.epoch);
  await node.clock.advance(1000);
  expect(lists.one).toBe(1);
});
