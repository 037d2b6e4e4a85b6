import { type Container, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';

const MIB = 2 ** 20;

const limited = (name: string, memory: string, cpu: string, change: Partial<Container> = {}): Container => {
  const amounts = { cpu, memory };
  return container(name, { resources: { requests: amounts, limits: amounts }, ...change });
};

/** Starts a pod whose containers use 80 MiB. `use` changes that, `resize` changes the pod, and the rest reads its state. */
async function startPod(containers: readonly Container[]) {
  const use = { mib: 80 };
  const node = await startNode({ behaviour: { usage: () => ({ cpuMillis: 0, memoryBytes: use.mib * MIB }) } });
  const { metadata } = await node.put(pod({ containers: [...containers] }));
  await node.clock.advance(10);
  node.work(metadata.uid ?? '');
  const read = (): Pod | undefined => node.client.all(PODS)[0];
  await soon(node, () => read()?.status?.phase).toBe('Running');
  const resize = async (to: readonly Container[]) => {
    const { spec, ...rest } = read() ?? pod();
    await node.client.update(PODS, { ...rest, spec: { ...spec, containers: [...to] } }, node.stop.signal);
  };
  const limits = async () => {
    const [found] = await node.hollow.observer.listPods({ cluster: 'c' });
    const all = (found?.containers ?? []).flatMap(({ name, state, resources }) =>
      state === 'running' ? [[name, resources] as const] : [],
    );
    return Object.fromEntries(
      all.map(([name, { memoryBytes = 0, cpuQuotaMicros = 0 }]) => [
        name,
        `${memoryBytes / MIB}Mi ${cpuQuotaMicros / 100}m`,
      ]),
    );
  };
  const condition = () => read()?.status?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
  return { node, use, resize, limits, condition };
}

it('a memory limit below the usage changes nothing of the pod until the usage has fallen', async () => {
  const { node, use, resize, limits, condition } = await startPod([
    limited('one', '128Mi', '100m'),
    limited('two', '128Mi', '100m'),
  ]);
  await resize([limited('one', '128Mi', '200m'), limited('two', '80Mi', '100m')]);
  const size = 80 * MIB;
  const why = `cannot decrease memory limits: attempting to set container "two" memory limit (${size}) below current usage (${size})`;
  await soon(node, () => condition()).toMatchObject({ status: 'True', reason: 'Error', message: why });
  expect(await limits()).toEqual({ one: '128Mi 100m', two: '128Mi 100m' });
  const error = `"error":${JSON.stringify(why)}}`;
  expect(node.events.filter((event) => event.startsWith('Warning ResizeError') && event.endsWith(error))).toHaveLength(
    1,
  );
  use.mib = 79;
  await node.clock.advance(2_000);
  await soon(node, limits).toEqual({ one: '128Mi 200m', two: '80Mi 100m' });
  await soon(node, () => condition()).toBeUndefined();
  expect(node.events.some((event) => event.startsWith('Normal ResizeCompleted'))).toBe(true);
});

it('each limit below the usage is named, a first one too, and none of a container that is restarted for it', async () => {
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  const { node, resize, limits, condition } = await startPod([
    limited('one', '128Mi', '100m'),
    container('two'),
    limited('three', '128Mi', '100m', { resizePolicy }),
  ]);
  await resize([
    limited('one', '64Mi', '100m'),
    limited('two', '64Mi', '100m'),
    limited('three', '64Mi', '100m', { resizePolicy }),
  ]);
  const of = (name: string) =>
    `attempting to set container "${name}" memory limit (${64 * MIB}) below current usage (${80 * MIB})`;
  const message = `cannot decrease memory limits: [${of('one')}, ${of('two')}]`;
  await soon(node, () => condition()).toMatchObject({ reason: 'Error', message });
  await soon(node, limits).toEqual({ one: '128Mi 100m', two: '0Mi 0m', three: '64Mi 100m' });
});
