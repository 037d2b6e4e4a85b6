/** Resources of a pod as a whole: its containers are held to them together, and they change in place. */
import { type Container as PodContainer, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
const MIB = 2 ** 20;
const SCRIPT = 'trap "exit 0" TERM; while :; do sleep 0.1; done';

const container = (name: string, change: Partial<PodContainer> = {}): PodContainer => ({
  name,
  image: 'busybox:1.36',
  command: ['sh', '-c', SCRIPT],
  ...change,
});

const podOf = (name: string, spec: Omit<NonNullable<Pod['spec']>, 'terminationGracePeriodSeconds'>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 0, ...spec },
});

/** Whether pods have control groups: an engine leaves its own to systemd where that runs. */
const hasGroups = async () => (await cluster.docker(['info', '-f', '{{.CgroupDriver}}'])).trim() === 'cgroupfs';

const parentOf = async ({ status }: Pod): Promise<readonly string[]> => {
  const ids = (status?.containerStatuses ?? []).map(({ containerID }) => containerID?.replace('docker://', '') ?? '');
  return (await cluster.docker(['inspect', '-f', '{{.HostConfig.CgroupParent}}', ...ids])).trim().split('\n');
};

/** Runs a script beside the control groups of the engine's host. */
const onHost = async (script: string) =>
  (await cluster.docker(['run', '--rm', '-v', '/sys/fs/cgroup:/g:ro', 'busybox:1.36', 'sh', '-c', script])).trim();

/** The bytes of memory that a group is held to, in either version. */
const memoryOf = async (group: string) =>
  Number(await onHost(`cat /g/memory${group}/memory.limit_in_bytes 2>/dev/null || cat /g${group}/memory.max`));

test('the containers of a pod are held to its limits together, which change in place', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.kubectl(['-n', namespace.name, ...args]);
  const resources = { requests: { memory: '32Mi' }, limits: { cpu: '500m', memory: '96Mi' } };
  const own = { resources: { requests: { cpu: '50m', memory: '16Mi' }, limits: { memory: '64Mi' } } };
  const created = podOf('web', { resources, containers: [container('one', own), container('two')] });
  await cluster.create(PODS, namespace.name, created);
  const read = () => cluster.get(PODS, namespace.name, 'web');
  if (!(await hasGroups())) {
    const refused = await eventually('the pod is refused', PATIENCE_MS, async () => {
      const { status } = await read();
      return status?.phase === 'Failed' ? status : undefined;
    });
    expect(refused).toMatchObject({ reason: 'PodLevelResourcesNotSupported' });
    expect(refused.message).toContain('since its engine leaves control groups to systemd');
    return;
  }
  const pod = await eventually('the pod is ready', PATIENCE_MS, async () => {
    const found = await read();
    return isReady(found) ? found : undefined;
  });
  // A container's request is one of the pod, which has none of its own.
  const requests = { cpu: '50m', memory: '32Mi' };
  expect(pod.spec?.resources).toEqual({ ...resources, requests });
  expect(pod.status).toMatchObject({
    qosClass: 'Burstable',
    resources: { requests, limits: resources.limits },
    allocatedResources: requests,
  });
  const [group = '', ...others] = await parentOf(pod);
  expect(others).toEqual([group]);
  expect(group).toContain(`-pod${pod.metadata.uid}`);
  expect(await memoryOf(group)).toBe(96 * MIB);
  const top = await eventually('its usage is known', PATIENCE_MS, async () => {
    const { stdout } = await kubectl('top', 'pod', 'web', '--containers', '--no-headers');
    return stdout.trim().split('\n').length === 2 ? stdout : undefined;
  });
  expect(top).toMatch(/web +one +\d+m +\d+Mi/);

  const resize = (limits: object) =>
    kubectl(
      'patch',
      'pod',
      'web',
      '--subresource=resize',
      `--patch=${JSON.stringify({ spec: { resources: { limits } } })}`,
    );
  const tooLittle = await resize({ memory: '48Mi' });
  expect(tooLittle.stderr).toContain('must be less than or equal to pod limits of 48Mi');
  const without = await resize({ memory: null });
  expect(without.stderr).toContain('spec.resources.limits: Forbidden: pod-level resource limits cannot be removed');
  for (const mebibytes of [160, 80]) {
    expect(await resize({ memory: `${mebibytes}Mi` })).toMatchObject({ code: 0 });
    const resized = await eventually(`the pod has ${mebibytes} MiB`, PATIENCE_MS, async () => {
      const found = await read();
      const isBusy = found.status?.conditions?.some(({ type }) => type.startsWith('PodResize'));
      return isBusy !== true && found.status?.resources?.limits?.['memory'] === `${mebibytes}Mi` ? found : undefined;
    });
    expect(await memoryOf(group)).toBe(mebibytes * MIB);
    const ids = ({ status }: Pod) => status?.containerStatuses?.map(({ containerID }) => containerID);
    expect(ids(resized)).toEqual(ids(pod));
  }

  expect(await kubectl('delete', 'pod', 'web', '--wait')).toMatchObject({ code: 0 });
  await eventually('its control group is gone', PATIENCE_MS, async () => {
    const found = await onHost(`ls -d /g/*${group} /g${group} 2>/dev/null || true`);
    return found === '' ? true : undefined;
  });
});

test('a pod that uses more memory than it may loses a container for that, though each may use as much', async () => {
  if (!(await hasGroups())) return;
  await using namespace = await cluster.namespace();
  const fill = 'x=$(head -c 45000000 /dev/zero | tr "\\0" x); sleep 3600';
  const command = ['sh', '-c', fill];
  const containers = [container('one', { command }), container('two', { command })];
  const spec = { resources: { limits: { memory: '64Mi' } }, restartPolicy: 'Never', containers };
  await cluster.create(PODS, namespace.name, podOf('greedy', spec));
  // The engine may hear of the kernel's kill after it has heard of the container's end.
  const ended = await eventually('a container is killed for its memory', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'greedy');
    return status?.containerStatuses?.find(({ state }) => state?.terminated?.reason === 'OOMKilled');
  });
  expect(ended.state?.terminated?.exitCode).toBe(137);
});
