/** Restart rules by which the exit of one container restarts all containers of its pod, in place. */
import { type Container, EVENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
const FOREVER = 'while :; do sleep 0.1; done';
const RULES = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];

/** Until the sidecar has written its name, no main container starts. */
const IS_UP = {
  exec: { command: ['test', '-f', '/tmp/up'] },
  periodSeconds: 1,
  timeoutSeconds: 60,
  failureThreshold: 60,
};

/** Writes its name into the pod's volume, and goes on with a script. */
const logged = (name: string, script: string, change: Partial<Container> = {}): Container => ({
  name,
  image: 'busybox:1.36',
  command: ['sh', '-c', `echo ${name} >> /log/started; ${script}`],
  volumeMounts: [{ name: 'log', mountPath: '/log' }],
  ...change,
});

const ONCE = `until grep -q done /log/started && grep -q runs /log/started; do sleep 0.1; done
if [ -f /log/exited ]; then ${FOREVER}; else touch /log/exited; exit 42; fi`;

const created: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'whole' },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 600,
    volumes: [{ name: 'log', emptyDir: {} }],
    initContainers: [
      logged('init', 'true'),
      logged('sidecar', `touch /tmp/up; ${FOREVER}`, { restartPolicy: 'Always', startupProbe: IS_UP }),
    ],
    containers: [
      logged('source', ONCE, { restartPolicy: 'Never', restartPolicyRules: RULES }),
      logged('runs', `trap "" TERM; ${FOREVER}`, { lifecycle: { preStop: { exec: { command: ['sleep', '600'] } } } }),
      logged('done', 'true'),
    ],
  },
};

test('the exit of a container restarts its pod in place: at once, from the init containers on, with its sandbox and volumes', async () => {
  await using namespace = await cluster.namespace();
  await cluster.create(PODS, namespace.name, created);
  const addresses = new Set<string>();
  const pod = await eventually('all containers have been restarted', PATIENCE_MS, async () => {
    const found = await cluster.get(PODS, namespace.name, 'whole');
    if (found.status?.podIP !== undefined) addresses.add(found.status.podIP);
    const { containerStatuses = [], initContainerStatuses = [] } = found.status ?? {};
    const all = [...initContainerStatuses, ...containerStatuses];
    const [, sidecar] = initContainerStatuses;
    const [source, runs, done] = containerStatuses;
    const areUp = [sidecar, source, runs].every((status) => status?.state?.running !== undefined);
    const isOver = done?.state?.terminated !== undefined && all.every(({ restartCount }) => restartCount > 0);
    return areUp && isOver ? found : undefined;
  });
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status ?? {};
  const last = { terminated: { exitCode: 137, reason: 'RestartingAllContainers' } };
  for (const status of [...initContainerStatuses, ...containerStatuses])
    expect(status).toMatchObject({ restartCount: 1, lastState: last });
  expect(pod.status?.phase).toBe('Running');
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'AllContainersRestarting', status: 'False' }));
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Initialized', status: 'True' }));
  expect(addresses.size).toBe(1);

  const read = ['exec', '-n', namespace.name, 'whole', '-c', 'runs', '--', 'cat', '/log/started'];
  const started = await eventually('all have written twice', PATIENCE_MS, async () => {
    const lines = (await cluster.mustKubectl(read)).trim().split('\n');
    return lines.length >= 10 ? lines : undefined;
  });
  expect(started).toHaveLength(10);
  expect([started.slice(0, 2), started.slice(5, 7)]).toEqual([
    ['init', 'sidecar'],
    ['init', 'sidecar'],
  ]);
  await eventually('Events say why', PATIENCE_MS, async () => {
    const killed = (await cluster.list(EVENTS, namespace.name)).filter(({ reason }) => reason === 'Killing');
    expect(new Set(killed.map(({ message }) => message))).toEqual(new Set(['killing']));
    return true;
  });
  const labels = [`label=io.kubernetes.pod.namespace=${namespace.name}`];
  expect(await cluster.podContainers(labels, 'all')).toHaveLength(6);
});

test('the exit of a sidecar restarts its pod in place, where its rules say so', async () => {
  await using namespace = await cluster.namespace();
  const once = `until grep -q runs /log/started; do sleep 0.1; done
if [ -f /log/exited ]; then ${FOREVER}; else touch /log/exited; exit 42; fi`;
  const source = logged('source', once, { restartPolicy: 'Always', restartPolicyRules: RULES });
  const spec = { ...created.spec, initContainers: [source], containers: [logged('runs', FOREVER)] };
  await cluster.create(PODS, namespace.name, { ...created, spec });
  await eventually('both containers have been restarted', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'whole');
    const both = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return both.length === 2 && both.every(({ restartCount, state }) => restartCount === 1 && state?.running);
  });
});
