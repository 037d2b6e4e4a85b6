import { DEPLOYMENTS, equalJson, EVENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady, nginxDeployment } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const FOREVER = 'while :; do sleep 0.1; done';
const containersOf = (pod: Pod, name = 'nginx') =>
  cluster.podContainers([
    `label=io.kubernetes.pod.uid=${pod.metadata.uid}`,
    `label=io.kubernetes.container.name=${name}`,
  ]);

async function onlyPod(namespace: string): Promise<Pod> {
  await cluster.create(DEPLOYMENTS, namespace, nginxDeployment('web', 1));
  await cluster.untilRolledOut(namespace, 'web');
  const [pod] = await cluster.pods(namespace);
  if (pod === undefined) throw new Error('the Deployment has no pod');
  return pod;
}

test('a killed container is restarted, once', async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  const [container = ''] = await containersOf(pod);
  await cluster.docker(['kill', container]);
  const after = await eventually('the container runs again', 120_000, async () => {
    const found = await cluster.get(PODS, namespace.name, pod.metadata.name ?? '');
    return isReady(found) && found.status?.containerStatuses?.[0]?.restartCount === 1 ? found : undefined;
  });
  expect(after.metadata.uid).toBe(pod.metadata.uid);
  expect(after.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(137);
  expect((await containersOf(pod)).length).toBe(1);
});

test('an earlier run of a container that is started by hand is stopped, and the pod stays as it is', async () => {
  await using namespace = await cluster.namespace();
  const shell = (name: string, script: string) => ({ name, image: IMAGE, command: ['sh', '-c', script] });
  const spec = {
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    initContainers: [shell('init', 'test -e /ran && exec sleep 3600; touch /ran')],
    containers: [shell('main', FOREVER)],
  };
  await cluster.create(PODS, namespace.name, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
  const read = () => cluster.get(PODS, namespace.name, 'web');
  const before = await eventually('the pod runs', 120_000, async () => {
    const pod = await read();
    return isReady(pod) ? pod : undefined;
  });
  const [first = ''] = await containersOf(before, 'main');
  await cluster.docker(['kill', first]);
  const restarted = await eventually('the container runs again', 120_000, async () => {
    const pod = await read();
    return isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1 ? pod : undefined;
  });
  const [second = ''] = await containersOf(restarted, 'main');
  const init = restarted.status?.initContainerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';
  const running = async () => [...(await containersOf(before, 'main')), ...(await containersOf(before, 'init'))];

  await cluster.docker(['start', first, init]);
  const stops = await eventually('both stops are reported', 120_000, async () => {
    const messages = (await cluster.list(EVENTS, namespace.name)).map(({ message = '' }) => message);
    const found = messages.filter((message) => message.includes('was started'));
    return found.length === 2 ? found : undefined;
  });
  expect(stops.toSorted()).toEqual([
    'Container main was started beside its successor',
    'Init container init was started after the pod was initialized',
  ]);
  await eventually('the second run is alone', 120_000, async () => equalJson(await running(), [second]));
  const after = await eventually('the end of the init container is reported', 120_000, async () => {
    const pod = await read();
    return pod.status?.initContainerStatuses?.[0]?.state?.terminated === undefined ? undefined : pod;
  });
  expect(isReady(after)).toBe(true);
  expect(after.status?.containerStatuses?.[0]).toMatchObject({ containerID: `docker://${second}`, restartCount: 1 });
  expect(after.status?.initContainerStatuses?.[0]).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 0, reason: 'Completed' } },
  });
});

test('a container and a sandbox that are paused go on', async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  const all = await cluster.podContainers([`label=io.kubernetes.pod.uid=${pod.metadata.uid}`]);
  expect(all.length).toBe(2);
  // On a busy machine runc gives up to freeze a control group of version 1 after some tries: "unable to freeze".
  for (const id of all)
    await eventually('the engine has paused it', 120_000, async () => {
      await cluster.docker(['pause', id]);
      return true;
    });
  await eventually('both run', 120_000, async () => {
    const states = await cluster.docker(['inspect', '-f', '{{.State.Status}}', ...all]);
    return states === 'running\nrunning';
  });
  await eventually('it is reported', 120_000, async () => {
    const events = await cluster.list(EVENTS, namespace.name);
    const messages = events.flatMap(({ reason, message = '' }) => (reason === 'Unpaused' ? [message] : []));
    return equalJson(messages.toSorted(), [
      'Container nginx was paused outside of the cluster and goes on',
      'Pod sandbox was paused outside of the cluster and goes on',
    ]);
  });
  const after = await cluster.get(PODS, namespace.name, pod.metadata.name ?? '');
  expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('a deleted pod is replaced, and its containers are gone', async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  await cluster.mustKubectl(['-n', namespace.name, 'delete', 'pod', pod.metadata.name ?? '']);
  await cluster.untilRolledOut(namespace.name, 'web');
  const pods = await cluster.pods(namespace.name);
  expect(pods.map(({ metadata }) => metadata.uid)).not.toContain(pod.metadata.uid);
  await eventually('nothing of the pod is left', 120_000, async () => {
    const left = await cluster.podContainers([`label=io.kubernetes.pod.uid=${pod.metadata.uid}`], 'all');
    return left.length === 0;
  });
});

test("a pod whose containers are removed behind the agent's back gets new ones", async () => {
  await using namespace = await cluster.namespace();
  const pod = await onlyPod(namespace.name);
  const all = await cluster.podContainers([`label=io.kubernetes.pod.uid=${pod.metadata.uid}`], 'all');
  await cluster.docker(['rm', '-f', ...all]);
  await eventually('the pod runs again', 120_000, async () => {
    const [running] = await containersOf(pod);
    const found = await cluster.get(PODS, namespace.name, pod.metadata.name ?? '');
    return running !== undefined && !all.includes(running) && isReady(found);
  });
});

/** What is done to a pod of two containers, and what has become of them: how often they were restarted, and how `main` ended before. */
interface Disturbance {
  readonly name: string;
  readonly act: (parts: { readonly sandbox: string; readonly main: string }) => Promise<unknown>;
  readonly restarts: Readonly<Record<'main' | 'other', number>>;
  readonly ended?: { readonly exitCode: number; readonly reason?: string };
}

const KILLED = { exitCode: 137, reason: 'Error' };
const DISTURBANCES: readonly Disturbance[] = [
  {
    name: 'its sandbox is killed',
    act: ({ sandbox }) => cluster.docker(['kill', sandbox]),
    restarts: { main: 1, other: 1 },
    // It ended by its signal, with code 0, but not of its own accord.
    ended: KILLED,
  },
  {
    name: 'its sandbox is removed',
    act: ({ sandbox }) => cluster.docker(['rm', '-f', sandbox]),
    restarts: { main: 1, other: 1 },
  },
  {
    name: 'one container is removed',
    act: ({ main }) => cluster.docker(['rm', '-f', main]),
    restarts: { main: 1, other: 0 },
    // With `ContainerStatusUnknown` where its end was not seen before it was removed.
    ended: { exitCode: 137 },
  },
  {
    name: 'one container is stopped',
    act: ({ main }) => cluster.docker(['stop', '-t', '60', main]),
    restarts: { main: 1, other: 0 },
    ended: { exitCode: 0, reason: 'Completed' },
  },
  {
    name: 'one container gets another name, and is killed',
    act: async ({ main }) => {
      await cluster.docker(['rename', main, `renamed-${main}`]);
      await cluster.docker(['kill', main]);
    },
    restarts: { main: 1, other: 0 },
    ended: KILLED,
  },
  {
    name: 'the resources of one container are changed',
    act: ({ main }) => cluster.docker(['update', '--cpu-shares', '777', '--cpu-quota', '77000', main]),
    restarts: { main: 0, other: 0 },
  },
];

test.each(DISTURBANCES)('a pod runs as its spec says after $name', async ({ act, restarts, ended }) => {
  await using namespace = await cluster.namespace();
  // It writes when it may be stopped.
  const script = `trap 'exit 0' TERM; echo ready; ${FOREVER}`;
  const resources = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '100m', memory: '16Mi' } };
  const containers = ['main', 'other'].map((name) => ({
    ...{ name, image: IMAGE, command: ['sh', '-c', script], resources },
    readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
  }));
  const object: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } };
  const { metadata } = await cluster.create(PODS, namespace.name, object);
  const read = () => cluster.get(PODS, namespace.name, 'web');
  const label = `label=io.kubernetes.pod.uid=${metadata.uid}`;
  const ofName = (name: string) => cluster.podContainers([label, `label=io.kubernetes.container.name=${name}`]);
  await eventually('the pod is ready', 120_000, async () => isReady(await read()));
  for (const name of ['main', 'other'])
    await eventually(`${name} has set its trap`, 120_000, async () =>
      (await cluster.mustKubectl(['-n', namespace.name, 'logs', 'web', '-c', name])).includes('ready'),
    );
  const [[sandbox = ''] = [], [main = ''] = [], [other = ''] = []] = await Promise.all(
    ['POD', 'main', 'other'].map(ofName),
  );

  await act({ sandbox, main });
  const after = await eventually('the pod is ready with its restarts', 120_000, async () => {
    const pod = await read();
    const counts = (pod.status?.containerStatuses ?? []).map(({ name, restartCount }) => [name, restartCount]);
    return isReady(pod) && equalJson(counts, Object.entries(restarts)) ? pod : undefined;
  });
  await eventually('both have the resources of their spec', 120_000, async () => {
    const ids = [...(await ofName('main')), ...(await ofName('other'))];
    const limits = await cluster.docker([
      'inspect',
      '-f',
      '{{.HostConfig.CpuShares}} {{.HostConfig.CpuQuota}}',
      ...ids,
    ]);
    return limits === '10 10000\n10 10000';
  });
  const statusOf = (name: string) => after.status?.containerStatuses?.find((status) => status.name === name);
  if (ended !== undefined) expect(statusOf('main')?.lastState?.terminated).toMatchObject(ended);
  const now = await Promise.all(['POD', 'main', 'other'].map(ofName));
  expect(now.map(({ length }) => length)).toEqual([1, 1, 1]);
  expect(now.slice(1)).toEqual([
    [statusOf('main')?.containerID?.replace('docker://', '')],
    [statusOf('other')?.containerID?.replace('docker://', '')],
  ]);
  expect([now[1]?.[0] === main, now[2]?.[0] === other]).toEqual([restarts.main === 0, restarts.other === 0]);
  await cluster.mustKubectl(['-n', namespace.name, 'delete', 'pod', 'web', '--timeout=120s']);
  expect(await cluster.podContainers([label], 'all')).toEqual([]);
});
