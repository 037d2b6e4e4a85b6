import { type Pod, type PodStatus, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode, type TestNode } from '../testing/start-node.ts';

const named = (name: string): Pod =>
  pod({ containers: [container('main', { ports: [{ containerPort: 80, hostPort: 8080 }] })] }, {}, { name });

async function run(node: TestNode, name: string): Promise<() => PodStatus | undefined> {
  const { uid = '' } = (await node.put(named(name))).metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  return () => node.client.all(PODS).find(({ metadata }) => metadata.name === name)?.status;
}

it('a pod that was created with a node fails while another pod there has its host port', async () => {
  const node = await startNode();
  const first = await run(node, 'first');
  await soon(node, () => first()?.phase).toBe('Running');
  const second = await run(node, 'second');
  await soon(node, () => second()?.phase).toBe('Failed');
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  expect(second()).toMatchObject({ reason: 'NodePorts', message: `Pod was rejected: ${message}` });
  expect(node.events).toContain(`Warning NodePorts ${message}`);
  expect(first()?.phase).toBe('Running');
  await node.client.delete(PODS, { namespace: 'default', name: 'first' }, { gracePeriodSeconds: 0 }, node.stop.signal);
  await soon(node, () => first()).toBeUndefined();
  const third = await run(node, 'third');
  await soon(node, () => third()?.phase).toBe('Running');
});
