import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode, type TestNode } from '../testing/start-node.ts';

const RULES = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];

/** Starts a pod that never restarts a container: `done` has ended, `source` restarts all containers, and `other` runs. */
async function startPod(node: TestNode) {
  const source = container('source', { restartPolicy: 'Never', restartPolicyRules: RULES });
  const containers = [source, container('other'), container('done')];
  const { metadata } = await node.put(pod({ restartPolicy: 'Never', containers }));
  await node.clock.advance(10);
  node.work(metadata.uid ?? '');
  await soon(node, () => restarts(node)).toEqual({ source: 0, other: 0, done: 0 });
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  node.hollow.exit(await idOf(node, 'done'), 0);
  await soon(node, () => statusOf(node, 'done')?.state?.terminated).toMatchObject({ exitCode: 0 });
  return metadata.uid ?? '';
}

const statusOf = (node: TestNode, name: string) =>
  node.client.all(PODS)[0]?.status?.containerStatuses?.find((status) => status.name === name);

/** Returns how often each container was restarted. */
const restarts = (node: TestNode) =>
  Object.fromEntries(
    (node.client.all(PODS)[0]?.status?.containerStatuses ?? []).map(({ name, restartCount }) => [name, restartCount]),
  );

const conditionOf = (node: TestNode) =>
  node.client.all(PODS)[0]?.status?.conditions?.find(({ type }) => type === 'AllContainersRestarting')?.status;

async function idOf(node: TestNode, name: string): Promise<string> {
  const [found] = await node.hollow.observer.listPods({ cluster: 'c' });
  return found?.containers.find((one) => one.name === name)?.id ?? '';
}

const untilRestarted = async (node: TestNode) => {
  await soon(node, () => restarts(node)).toEqual({ source: 1, other: 1, done: 1 });
  const names = ['source', 'other', 'done'];
  await soon(node, () => names.map((name) => statusOf(node, name)?.state?.running !== undefined)).toEqual([
    true,
    true,
    true,
  ]);
};

it('all containers of a pod are restarted when one exits by such a rule, also those that were done', async () => {
  const node = await startNode({ behaviour: { stopMs: 50 } });
  await startPod(node);
  const [sandbox] = (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.sandboxes ?? [];
  node.hollow.exit(await idOf(node, 'source'), 42);
  await soon(node, () => conditionOf(node)).toBe('True');
  await untilRestarted(node);
  expect(conditionOf(node)).toBe('False');
  const last = { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } };
  for (const name of ['source', 'other', 'done']) expect(statusOf(node, name)?.lastState).toMatchObject(last);
  expect(node.events).toContain('Normal Killing killing');
  const [after] = (await node.hollow.observer.listPods({ cluster: 'c' }))[0]?.sandboxes ?? [];
  expect(after?.id).toBe(sandbox?.id);
});

it('an agent that is started after the containers were removed starts them all again', async () => {
  const first = await startNode({ behaviour: { stopMs: 50 } });
  const uid = await startPod(first);
  const source = await idOf(first, 'source');
  first.hollow.exit(source, 42);
  await soon(first, () => conditionOf(first)).toBe('True');
  first.stop.abort();
  await first.clock.advance(100);
  for (const { id } of (await first.hollow.observer.listPods({ cluster: 'c' }))[0]?.containers ?? [])
    await first.hollow.containers.removeContainer(id);
  expect(conditionOf(first)).toBe('True');
  const second = await startNode({ world: first, behaviour: { stopMs: 50 } });
  await second.clock.advance(10);
  second.work(uid);
  await untilRestarted(second);
});
