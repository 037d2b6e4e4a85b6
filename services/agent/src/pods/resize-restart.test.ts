import { type Container, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode, type TestNode } from '../testing/start-node.ts';

const sized = (memory: string, change: Partial<Container>): Container =>
  container('main', {
    resources: { requests: { memory }, limits: { memory } },
    resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
    ...change,
  });
const read = (node: TestNode): Pod | undefined => node.client.all(PODS)[0];
const statusOf = (node: TestNode) => read(node)?.status?.containerStatuses?.[0];

/** Starts a pod whose program ends with exit code 0 when it is stopped, and returns a function that resizes it. */
async function startPod(change: Partial<Container> = {}) {
  const node = await startNode();
  const { metadata } = await node.put(pod({ restartPolicy: 'OnFailure', containers: [sized('64Mi', change)] }));
  const { uid = '' } = metadata;
  await node.clock.advance(10);
  node.work(uid);
  await soon(node, () => read(node)?.status?.phase).toBe('Running');
  const resize = async (memory: string) => {
    const { spec, ...rest } = read(node) ?? pod();
    const containers = [sized(memory, change)];
    await node.client.update(PODS, { ...rest, spec: { ...spec, containers } }, node.stop.signal);
  };
  return { node, uid, resize };
}

it.each([
  ['the policy OnFailure', {}],
  ['a policy Never of its own', { restartPolicy: 'Never' }],
])('a container with %s that a resize stops is started again, though it ends with exit code 0', async (_, change) => {
  const { node, resize } = await startPod(change);
  await resize('128Mi');
  await soon(node, () => [read(node)?.status?.phase, statusOf(node)?.restartCount]).toEqual(['Running', 1]);
  expect(statusOf(node)).toMatchObject({ state: { running: {} }, resources: { limits: { memory: '128Mi' } } });
  // A container that ends by itself afterwards stays ended.
  const [state] = await node.hollow.observer.listPods({ cluster: 'c' });
  node.hollow.exit(state?.containers[0]?.id ?? '', 0);
  await soon(node, () => read(node)?.status?.phase).toBe('Succeeded');
});

it('the exit code of one that is started again by its policy stays as it is', async () => {
  const { node, resize } = await startPod({ restartPolicy: 'Always' });
  await resize('128Mi');
  await soon(node, () => statusOf(node)?.restartCount).toBe(1);
  expect(statusOf(node)?.lastState?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
});

it('the next agent starts a container again that a resize has stopped', async () => {
  const { node, uid, resize } = await startPod();
  await resize('128Mi');
  await soon(node, () => statusOf(node)?.restartCount).toBe(1);
  await resize('256Mi');
  // The container waits for its restart.
  await soon(node, () => statusOf(node)?.state?.waiting?.reason).toBe('CrashLoopBackOff');
  await node.end();
  const next = await startNode({ world: node });
  await soon(next, () => next.pods.get(uid)).toBeDefined();
  next.work(uid);
  await next.clock.advance(20_000);
  await soon(next, () => [read(next)?.status?.phase, statusOf(next)?.restartCount]).toEqual(['Running', 2]);
});
