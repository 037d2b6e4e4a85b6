import { CONFIG_MAPS, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

const START_MS = 2_500;

/**
 * Starts a node whose engine takes two and a half seconds for each start. Notes what the engine creates in which order, and how often it
 * is asked for its containers. The first `refusals` sandboxes get no address.
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

/** Polls a reading, however often the node has to retry for it. */
function later(node: TestNode, read: () => unknown) {
  const pass = async () => {
    await node.clock.advance(START_MS);
    return read();
  };
  return expect.poll(pass, { interval: 1 });
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
  // At this time the engine starts the container. A report with no further information waits for a second.
  await node.clock.advance(START_MS + 1_000);
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

/** When the engine was asked for which part of two pods, on a node that starts one container at a time. */
interface TwoPods {
  readonly node: TestNode;
  readonly asked: readonly string[];
  /** The time by the monotonic clock. */
  readonly atMs: (what: string) => number;
}

/** `wait`: the engine's work before it ends a part of a pod. */
async function twoPods(wait: (part: string) => Promise<void> | undefined): Promise<TwoPods> {
  const asked = new Map<string, number>();
  const podOf = new Map<string, string>();
  const ask = async (part: string) => {
    if (!asked.has(part)) asked.set(part, node.clock.monotonicMs());
    await wait(part);
  };
  const wrap = (hollow: HollowRuntime): Runtime => ({
    ...hollow,
    images: hollow.images,
    sandboxes: {
      ...hollow.sandboxes,
      createSandbox: async (spec, signal, created) => {
        const { name } = spec.pod;
        await ask(`sandbox of ${name}`);
        const id = await hollow.sandboxes.createSandbox(spec, signal, (made) => {
          podOf.set(made, name);
          created?.(made);
        });
        await ask(`end of the sandbox of ${name}`);
        return id;
      },
    },
    containers: {
      ...hollow.containers,
      createContainer: async (spec, signal) => {
        const name = podOf.get(spec.sandboxId) ?? '';
        await ask(`container of ${name}`);
        const id = await hollow.containers.createContainer(spec, signal);
        podOf.set(id, name);
        asked.set(`made for ${name}`, node.clock.monotonicMs());
        return id;
      },
      startContainer: async (id, signal) => {
        await ask(`start of ${podOf.get(id)}`);
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
  return {
    node,
    get asked() {
      return [...asked.keys()];
    },
    atMs: (what) => asked.get(what) ?? Number.NaN,
  };
}

it('a pod runs before the next one begins', async () => {
  const pods = await twoPods(() => undefined);
  await soon(pods.node, () => pods.asked).toContain('container of a');
  // This works on real files, and no time of the node passes meanwhile.
  await expect.poll(() => pods.asked).toContain('made for a');
  await soon(pods.node, () => pods.asked).toContain('start of b');
  const starts = pods.asked.filter((part) => /^(?:sandbox|start) of/.test(part));
  expect(starts).toEqual(['sandbox of a', 'start of a', 'sandbox of b', 'start of b']);
});

it('a container that cannot be created holds up other pods for a second', async () => {
  const late = Promise.withResolvers<void>();
  const pods = await twoPods((part) => (part === 'container of a' ? late.promise : undefined));
  await soon(pods.node, () => pods.asked).toContain('sandbox of b');
  const heldMs = pods.atMs('sandbox of b') - pods.atMs('end of the sandbox of a');
  late.resolve();
  expect(heldMs).toBeGreaterThanOrEqual(1_000);
  expect(heldMs).toBeLessThan(2_000);
  await soon(pods.node, () => pods.asked).toContain('start of a');
});

it('a sandbox that fails holds up no other pod, whatever goes on beside it', async () => {
  const late = Promise.withResolvers<void>();
  const pods = await twoPods(async (part) => {
    if (part === 'container of a') await late.promise;
    if (part === 'end of the sandbox of a') throw new AgentError('Runtime', 'no runtime');
  });
  await soon(pods.node, () => pods.asked).toContain('sandbox of b');
  const heldMs = pods.atMs('sandbox of b') - pods.atMs('end of the sandbox of a');
  late.resolve();
  expect(heldMs).toBeLessThan(1_000);
});
