import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { MortalCalls } from '../testing/mortal-agent.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

const hook = { exec: { command: ['hook'] } };

/** A pod with a container of each kind, hooks and a volume. */
const POD: Pod = pod(
  {
    terminationGracePeriodSeconds: 5,
    volumes: [{ name: 'v', emptyDir: {} }],
    initContainers: [container('setup'), container('side', { restartPolicy: 'Always' })],
    containers: [
      container('a', {
        lifecycle: { postStart: hook, preStop: hook },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      }),
      container('b'),
    ],
  },
  {},
  { finalizers: ['example.com/keep'] },
);

/** A node whose agent dies when it is told to. */
async function mortalNode(): Promise<{ readonly node: TestNode; readonly calls: MortalCalls }> {
  const calls = new MortalCalls();
  const node = await startNode({
    wrap: (hollow) => calls.wrap(hollow),
    wrapClient: (client) => calls.wrap(client),
    behaviour: { exitAfter: ({ name }) => (name === 'setup' ? { ms: 0, exitCode: 0 } : undefined) },
  });
  return { node, calls };
}

/** Everything that a life leaves: in the engine, in the API and on the disk. */
async function remains({ hollow, client, path }: TestNode) {
  const [state] = await hollow.observer.listPods(OWNER);
  const { status } = client.all(PODS)[0] ?? {};
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    sandboxes: state?.sandboxes.map((sandbox) => [sandbox.attempt, sandbox.state]) ?? [],
    containers: (state?.containers ?? []).map((one) => `${one.name} ${one.attempt} ${one.state}`).sort(),
    phase: status?.phase,
    restarts: statuses.map(({ name, restartCount, ready }) => [name, restartCount, ready]),
    folders: await readdir(join(path, 'pods')).catch(() => []),
  };
}

const RUNS = {
  sandboxes: [[0, 'running']],
  containers: ['a 0 running', 'b 0 running', 'setup 0 exited', 'side 0 running'],
  phase: 'Running',
  restarts: ['setup', 'side', 'a', 'b'].map((name) => [name, 0, true]),
  folders: ['uid-1'],
};

const isRunning = (found: unknown) => JSON.stringify(found) === JSON.stringify(RUNS);

async function begin(node: TestNode, death: AbortSignal): Promise<void> {
  await node.put(POD);
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1', death);
}

/** Starts the agent anew, as Docker does with one that was killed. */
async function reborn(world: TestNode): Promise<TestNode> {
  const node = await startNode({ world });
  await soon(node, () => node.pods.get('uid-1')).toBeDefined();
  node.work('uid-1');
  return node;
}

const deleted = (node: TestNode) =>
  node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, new AbortController().signal);

/** The engine is empty and the pod's folder gone; the finalizer keeps the object. */
const isGone = async (node: TestNode) => {
  const { sandboxes, containers, folders } = await remains(node);
  return sandboxes.length + containers.length + folders.length === 0;
};

it("an agent that is killed after any call on a pod's way to Running leaves nothing that its successor does not finish", async () => {
  const first = await mortalNode();
  await begin(first.node, first.calls.death.signal);
  await soon(first.node, () => remains(first.node)).toEqual(RUNS);
  const count = first.calls.names.length;
  expect(count).toBeGreaterThan(20);
  for (let last = 1; last <= count; last++) {
    const { node, calls } = await mortalNode();
    calls.dieAfter(last);
    await begin(node, calls.death.signal);
    await soon(node, async () => calls.death.signal.aborted || isRunning(await remains(node))).toBe(true);
    const next = await reborn(node);
    await soon(next, () => remains(next)).toEqual(RUNS);
  }
}, 600_000);

it("an agent that is killed after any call on a pod's way to its end leaves nothing behind", async () => {
  const first = await mortalNode();
  await begin(first.node, first.calls.death.signal);
  await soon(first.node, () => remains(first.node)).toEqual(RUNS);
  const before = first.calls.names.length;
  await deleted(first.node);
  await soon(first.node, () => isGone(first.node)).toBe(true);
  const count = first.calls.names.length - before;
  expect(count).toBeGreaterThan(10);
  for (let last = 1; last <= count; last++) {
    const { node, calls } = await mortalNode();
    await begin(node, calls.death.signal);
    await soon(node, () => remains(node)).toEqual(RUNS);
    calls.dieAfter(last);
    await deleted(node);
    await soon(node, async () => calls.death.signal.aborted || (await isGone(node))).toBe(true);
    const next = await reborn(node);
    await soon(next, () => isGone(next)).toBe(true);
    const { restarts } = await remains(next);
    expect(restarts.map(([name, restartCount]) => [name, restartCount])).toEqual(
      ['setup', 'side', 'a', 'b'].map((name) => [name, 0]),
    );
  }
}, 600_000);
