import { CONFIG_MAPS, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

const START_MS = 1_000;

/**
 * A node whose engine takes a second for each start, what it has made in which order, and how often it was asked for what it has. So
 * many sandboxes get no address at first.
 */
async function slowNode(refusals = 0): Promise<{
  readonly node: TestNode;
  readonly calls: string[];
  readonly lists: () => number;
}> {
  const calls: string[] = [];
  let lists = 0;
  let left = refusals;
  const wrap = (hollow: HollowRuntime): Runtime => ({
    ...hollow,
    images: hollow.images,
    observer: {
      ...hollow.observer,
      listPods: (filter) => {
        lists++;
        return hollow.observer.listPods(filter);
      },
    },
    sandboxes: {
      ...hollow.sandboxes,
      createSandbox: async (spec, signal, created) => {
        if (left-- > 0) {
          created?.('refused');
          throw new AgentError('AddressInUse', 'address already in use');
        }
        const id = await hollow.sandboxes.createSandbox(spec, signal, (made) => {
          calls.push('sandbox created');
          created?.(made);
        });
        calls.push('sandbox started');
        return id;
      },
    },
    containers: {
      ...hollow.containers,
      createContainer: async (spec, signal) => {
        const id = await hollow.containers.createContainer(spec, signal);
        calls.push(`${spec.name} created`);
        return id;
      },
    },
  });
  const registry = { 'late:1': { id: 'sha256:2', sizeBytes: 1, digests: [], user: '', labels: [] } };
  return { node: await startNode({ wrap, behaviour: { startMs: START_MS }, registry }), calls, lists: () => lists };
}

async function begin(node: TestNode, spec: Partial<NonNullable<Pod['spec']>> = {}): Promise<void> {
  await node.put(pod(spec));
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
}

/** What a reading becomes, however often the node has to try again for it. */
function later(node: TestNode, read: () => unknown) {
  const pass = async () => {
    await node.clock.advance(START_MS);
    return read();
  };
  return expect.poll(pass, { interval: 1, timeout: 10_000 });
}

const status = ({ client }: TestNode) => client.all(PODS)[0]?.status;
const isReadyToStart = (node: TestNode) =>
  status(node)?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
const volumes = [{ name: 'v', configMap: { name: 'late' } }];

it('the first containers of a pod are created while the engine starts its sandbox', async () => {
  const { node, calls } = await slowNode();
  await begin(node, { containers: [container('main'), container('other')] });
  await soon(node, () => calls.toSorted()).toEqual(['main created', 'other created', 'sandbox created']);
  await later(node, () => status(node)?.phase).toBe('Running');
  expect(calls.slice(3)).toEqual(['sandbox started']);
  expect(status(node)?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  const reasons = node.events.map((event) => event.split(' ')[1]);
  expect(reasons).toEqual(['Pulled', 'Pulled', 'Created', 'Created', 'Started', 'Started']);
});

it('what would have to be pulled is not created beside the sandbox', async () => {
  const { node, calls } = await slowNode();
  await begin(node, { containers: [{ ...container('main'), image: 'late:1' }] });
  await soon(node, () => calls).toEqual(['sandbox created']);
  await later(node, () => calls).toEqual(['sandbox created', 'sandbox started', 'main created']);
});

it('a pod whose volumes cannot be mounted has a sandbox, and is not ready to start containers', async () => {
  const { node, calls } = await slowNode();
  await begin(node, { volumes });
  await soon(node, () => calls).toEqual(['sandbox created']);
  await later(node, () => status(node)?.podIP).toMatch(/^10\.1\.0\./);
  expect(isReadyToStart(node)).toBe('False');
  const metadata = { name: 'late', namespace: 'default' };
  await node.client.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await later(node, () => status(node)?.phase).toBe('Running');
  expect(isReadyToStart(node)).toBe('True');
});

it('a container that was created for a pod that is deleted meanwhile goes with it', async () => {
  const { node, calls } = await slowNode();
  await begin(node);
  await soon(node, () => calls).toContain('main created');
  await node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, node.stop.signal);
  await soon(node, async () => await node.hollow.observer.listPods(OWNER)).toEqual([]);
});

it('the first containers start as soon as the sandbox runs, which is reported before', async () => {
  const { node, calls, lists } = await slowNode();
  await begin(node);
  await soon(node, () => calls).toContain('main created');
  const before = lists();
  await node.clock.advance(START_MS);
  // Before a second has passed, in which the engine starts the container.
  await soon(node, () => status(node)?.podIP).toMatch(/^10\.1\.0\./);
  expect(calls).toEqual(['sandbox created', 'main created', 'sandbox started']);
  expect(status(node)?.phase).toBe('Pending');
  expect(lists()).toBe(before);
  await node.clock.advance(START_MS);
  await soon(node, () => status(node)?.phase).toBe('Running');
});

it('a sandbox whose address is taken leaves its containers to be created anew, once each', async () => {
  const { node, calls } = await slowNode(1);
  await begin(node);
  await soon(node, () => calls.toSorted()).toEqual(['main created', 'sandbox created']);
  await node.clock.advance(START_MS);
  await soon(node, () => calls.slice(2)).toEqual(['sandbox started', 'main created']);
  await node.clock.advance(START_MS);
  await soon(node, () => status(node)?.phase).toBe('Running');
  expect(node.events.filter((event) => event.startsWith('Warning'))).toEqual([]);
  expect(status(node)?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
});

/** A node that starts one container at a time, and in which order the engine was asked to start those of two pods. */
async function twoPods(create: (pod: string) => Promise<void>): Promise<{
  readonly node: TestNode;
  readonly starts: string[];
}> {
  const starts: string[] = [];
  const podOf = new Map<string, string>();
  const wrap = (hollow: HollowRuntime): Runtime => ({
    ...hollow,
    images: hollow.images,
    sandboxes: {
      ...hollow.sandboxes,
      createSandbox: async (spec, signal, created) => {
        starts.push(`sandbox of ${spec.pod.name}`);
        return await hollow.sandboxes.createSandbox(spec, signal, (id) => {
          podOf.set(id, spec.pod.name);
          created?.(id);
        });
      },
    },
    containers: {
      ...hollow.containers,
      createContainer: async (spec, signal) => {
        const pod = podOf.get(spec.sandboxId) ?? '';
        await create(pod);
        const id = await hollow.containers.createContainer(spec, signal);
        podOf.set(id, pod);
        return id;
      },
      startContainer: async (id, signal) => {
        starts.push(`container of ${podOf.get(id)}`);
        await hollow.containers.startContainer(id, signal);
      },
    },
  });
  const node = await startNode({ wrap, behaviour: { startMs: 20 } });
  for (const name of ['a', 'b']) {
    const { uid = '' } = (await node.put(pod({}, {}, { name }))).metadata;
    await soon(node, () => node.pods.get(uid)).toBeDefined();
    node.work(uid);
  }
  return { node, starts };
}

it('a pod runs before the next one begins', async () => {
  const { node, starts } = await twoPods(() => Promise.resolve());
  await soon(node, () => starts).toEqual(['sandbox of a', 'container of a', 'sandbox of b', 'container of b']);
});

it('a container that cannot be created holds up other pods for a second', async () => {
  const late = Promise.withResolvers<void>();
  const { node, starts } = await twoPods((name) => (name === 'a' ? late.promise : Promise.resolve()));
  await soon(
    node,
    () => node.client.all(PODS).find(({ metadata }) => metadata.name === 'a')?.status?.podIP,
  ).toBeDefined();
  await node.clock.advance(500);
  expect(starts).toEqual(['sandbox of a']);
  await node.clock.advance(500);
  await soon(node, () => starts).toEqual(['sandbox of a', 'sandbox of b']);
  late.resolve();
  await soon(node, () => starts.toSorted()).toEqual([
    'container of a',
    'container of b',
    'sandbox of a',
    'sandbox of b',
  ]);
});
