/** Resources of running containers that change in place: larger and smaller, with a restart, later, and not at all. */
import { type Container as PodContainer, EVENTS, type Node, type Pod, PODS, quantityMilli } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
const MIB = 2 ** 20;
const NOT_REQUIRED = { resourceName: 'cpu', restartPolicy: 'NotRequired' };
const RESTART = { resourceName: 'memory', restartPolicy: 'RestartContainer' };

type Resources = PodContainer['resources'];
type Namespace = Awaited<ReturnType<Cluster['namespace']>>['name'];

const limited = (cpu: string, memory: string): Resources => ({
  requests: { cpu: '10m', memory: '16Mi' },
  limits: { cpu, memory },
});

function podOf(
  name: string,
  resources: Resources,
  spec: Partial<Pod['spec']> = {},
  main: Partial<PodContainer> = {},
): Pod {
  const script = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
  const container = { name: 'main', image: 'busybox:1.36', command: ['sh', '-c', script], resources, ...main };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 5, ...spec, containers: [container] },
  };
}

async function start(namespace: Namespace, pod: Pod): Promise<Pod> {
  const { metadata } = await cluster.create(PODS, namespace, pod);
  return await eventually(`${metadata.name} is ready`, PATIENCE_MS, async () => {
    const found = await cluster.get(PODS, namespace, metadata.name ?? '');
    return isReady(found) ? found : undefined;
  });
}

const patched = (namespace: Namespace, name: string, resources: Resources) => {
  const patch = JSON.stringify({ spec: { containers: [{ name: 'main', resources }] } });
  return cluster.kubectl(['-n', namespace, 'patch', 'pod', name, '--subresource=resize', `--patch=${patch}`]);
};

const resizeOf = ({ status }: Pod, type: string) => status?.conditions?.find((condition) => condition.type === type);

/** The pod when nothing of a resize is left to do. */
const untilResized = (namespace: Namespace, name: string, limits: Readonly<Record<string, string>>) =>
  eventually(`${name} is resized`, PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace, name);
    const isBusy = ['PodResizePending', 'PodResizeInProgress'].some((type) => resizeOf(pod, type) !== undefined);
    const [main] = pod.status?.containerStatuses ?? [];
    const isDone = Object.entries(limits).every(([resource, amount]) => main?.resources?.limits?.[resource] === amount);
    return isBusy || !isDone || !isReady(pod) ? undefined : { pod, main };
  });

/** What the engine holds the pod's container to: bytes of memory, and millionths of a second in each tenth of one. */
async function engineLimits(pod: Pod): Promise<string> {
  const id = pod.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';
  return (await cluster.docker(['inspect', '-f', '{{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}', id])).trim();
}

/** The message of the Event with this reason, once it is there. */
const messageOf = (namespace: Namespace, name: string, reason: string) =>
  eventually(`${name} has an Event ${reason}`, PATIENCE_MS, async () => {
    const events = await cluster.list(EVENTS, namespace);
    return events.find((event) => event.involvedObject.name === name && event.reason === reason)?.message;
  });

test('a container that asks for a restart when its memory changes is restarted for that, and not for its processor', async () => {
  await using namespace = await cluster.namespace();
  const resizePolicy = [NOT_REQUIRED, RESTART];
  const before = await start(namespace.name, podOf('web', limited('100m', '64Mi'), {}, { resizePolicy }));
  expect((await patched(namespace.name, 'web', limited('200m', '64Mi'))).code).toBe(0);
  const faster = await untilResized(namespace.name, 'web', { cpu: '200m' });
  expect(faster.main).toMatchObject({
    restartCount: 0,
    containerID: before.status?.containerStatuses?.[0]?.containerID,
  });
  expect(await engineLimits(faster.pod)).toBe(`${64 * MIB} 20000`);

  expect((await patched(namespace.name, 'web', limited('200m', '96Mi'))).code).toBe(0);
  const larger = await untilResized(namespace.name, 'web', { memory: '96Mi' });
  expect(larger.main).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 0 } } });
  expect(await engineLimits(larger.pod)).toBe(`${96 * MIB} 20000`);
  expect(await messageOf(namespace.name, 'web', 'Killing')).toBe('Container main resize requires restart');

  // The engine is told nothing of it.
  const requests = { cpu: '10m', memory: '32Mi' };
  expect((await patched(namespace.name, 'web', { ...limited('200m', '96Mi'), requests })).code).toBe(0);
  await eventually('the container was restarted for its new request', PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'web');
    const [main] = pod.status?.containerStatuses ?? [];
    return main?.restartCount === 2 && main.resources?.requests?.['memory'] === '32Mi' && isReady(pod);
  });
});

test('an init container that runs gets more in place', async () => {
  await using namespace = await cluster.namespace();
  const script = 'while [ ! -e /tmp/done ]; do sleep 0.1; done';
  const init = {
    name: 'init',
    image: 'busybox:1.36',
    command: ['sh', '-c', script],
    resources: limited('100m', '64Mi'),
  };
  await cluster.create(PODS, namespace.name, podOf('slow', limited('100m', '64Mi'), { initContainers: [init] }));
  const untilHeldTo = (limits: string) =>
    eventually(`the init container is held to ${limits}`, PATIENCE_MS, async () => {
      const { status } = await cluster.get(PODS, namespace.name, 'slow');
      const [found] = status?.initContainerStatuses ?? [];
      const { cpu, memory } = found?.resources?.limits ?? {};
      return found?.state?.running !== undefined && `${cpu} ${memory}` === limits ? found : undefined;
    });
  const { containerID } = await untilHeldTo('100m 64Mi');
  const patch = JSON.stringify({ spec: { initContainers: [{ name: 'init', resources: limited('200m', '96Mi') }] } });
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  await kubectl('patch', 'pod', 'slow', '--subresource=resize', `--patch=${patch}`);
  const resized = await untilHeldTo('200m 96Mi');
  expect([resized.containerID, resized.restartCount]).toEqual([containerID, 0]);
  const id = containerID?.replace('docker://', '') ?? '';
  const held = await cluster.docker(['inspect', '-f', '{{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}', id]);
  expect(held.trim()).toBe(`${96 * MIB} 20000`);
  await kubectl('exec', 'slow', '-c', 'init', '--', 'touch', '/tmp/done');
  await kubectl('wait', '--for=condition=Ready', 'pod/slow', '--timeout=120s');
});

test('a container gets less in place, and no memory limit below what it uses until it uses less', async () => {
  await using namespace = await cluster.namespace();
  const volumes = [{ name: 'memory', emptyDir: { medium: 'Memory' } }];
  const volumeMounts = [{ name: 'memory', mountPath: '/m' }];
  const fill = 'dd if=/dev/zero of=/m/file bs=1M count=80 && while :; do sleep 0.1; done';
  const full = podOf('full', limited('200m', '160Mi'), { volumes }, { volumeMounts, command: ['sh', '-c', fill] });
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  await start(namespace.name, full);
  const size = Number(
    await eventually('the file is written', PATIENCE_MS, async () => {
      const bytes = await kubectl('exec', 'full', '--', 'stat', '-c', '%s', '/m/file');
      return bytes.trim() === String(80 * MIB) ? bytes : undefined;
    }),
  );

  expect((await patched(namespace.name, 'full', limited('100m', '128Mi'))).code).toBe(0);
  const less = await untilResized(namespace.name, 'full', { cpu: '100m', memory: '128Mi' });
  expect(await engineLimits(less.pod)).toBe(`${128 * MIB} 10000`);

  expect((await patched(namespace.name, 'full', limited('50m', '64Mi'))).code).toBe(0);
  const refused = await eventually('the resize is refused', PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'full');
    return resizeOf(pod, 'PodResizeInProgress')?.reason === 'Error' ? pod : undefined;
  });
  const { message = '' } = resizeOf(refused, 'PodResizeInProgress') ?? {};
  const usage =
    /^cannot decrease memory limits: attempting to set container "main" memory limit \(67108864\) below current usage \((\d+)\)$/;
  expect(Number(usage.exec(message)?.[1])).toBeGreaterThanOrEqual(size);
  expect(await engineLimits(refused)).toBe(`${128 * MIB} 10000`);
  expect(await messageOf(namespace.name, 'full', 'ResizeError')).toContain('cannot decrease memory limits');

  await kubectl('exec', 'full', '--', 'rm', '/m/file');
  const freed = await untilResized(namespace.name, 'full', { cpu: '50m', memory: '64Mi' });
  expect(await engineLimits(freed.pod)).toBe(`${64 * MIB} 5000`);
  expect(freed.main).toMatchObject({ restartCount: 0, lastState: {} });
});

test('a resize waits for room on its node, and one for which the node never has room is refused', async () => {
  await using namespace = await cluster.namespace();
  const [node] = await cluster.nodes();
  const { name: nodeName = '' } = (node as Node).metadata;
  const all = quantityMilli(node?.status?.allocatable?.['cpu'] ?? '0');
  const millis = (percent: number) => Math.floor((all * percent) / 100);
  const part = (percent: number): Resources => ({ requests: { cpu: `${millis(percent)}m` } });
  const on = { nodeName, terminationGracePeriodSeconds: 0 };
  await start(namespace.name, podOf('other', part(60), on));
  await start(namespace.name, podOf('grows', part(10), on));

  const never = await patched(namespace.name, 'grows', part(110));
  expect(never.code).toBe(1);
  const amounts = `cpu, requested: ${millis(110)}, allocatable: ${all}`;
  expect(never.stderr).toContain(
    `pods "grows" is forbidden: node didn't have enough allocatable resources: ${amounts}`,
  );

  expect((await patched(namespace.name, 'grows', part(50))).code).toBe(0);
  const waiting = await eventually('the resize waits', PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'grows');
    return resizeOf(pod, 'PodResizePending') === undefined ? undefined : pod;
  });
  const message = new RegExp(
    `^Node didn't have enough resource: cpu, requested: ${millis(50)}, used: \\d+, capacity: ${all}$`,
  );
  expect(resizeOf(waiting, 'PodResizePending')).toMatchObject({
    reason: 'Deferred',
    message: expect.stringMatching(message),
  });
  const small = part(10)?.requests ?? {};
  const granted = { allocatedResources: small, resources: { requests: small } };
  expect(waiting.status).toMatchObject({ ...granted, containerStatuses: [granted] });
  expect(await messageOf(namespace.name, 'grows', 'ResizeDeferred')).toMatch(/^Pod resize OutOfcpu: \{/);

  await cluster.mustKubectl(['-n', namespace.name, 'delete', 'pod', 'other']);
  const grown = await untilResized(namespace.name, 'grows', {});
  const large = part(50)?.requests;
  expect(grown.main).toMatchObject({ restartCount: 0, allocatedResources: large });
  expect(grown.pod.status).toMatchObject({ allocatedResources: large, resources: { requests: large } });
});
