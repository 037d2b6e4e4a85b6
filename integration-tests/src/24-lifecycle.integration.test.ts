/** The lives of containers on a real engine: hooks, sidecars, ephemeral containers, restarts and ends. */
import { type Container as PodContainer, type ContainerStatus, EVENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const PATIENCE_MS = 120_000;
const FOREVER = 'while :; do sleep 0.1; done';

const shell = (name: string, script: string, change: Partial<PodContainer> = {}): PodContainer => ({
  name,
  image: IMAGE,
  command: ['sh', '-c', script],
  ...change,
});

const podOf = (name: string, spec: Pod['spec'], annotations: Record<string, string> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations },
  spec: { terminationGracePeriodSeconds: 10, restartPolicy: 'Never', containers: [], ...spec },
});

const untilEnded = (namespace: string, name: string) =>
  eventually(`${name} has ended`, PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace, name);
    return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' ? pod : undefined;
  });

const main = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0];

test('sidecars start one after the other before the main containers, and end after them in reverse', async () => {
  await using namespace = await cluster.namespace();
  const volumeMounts = [{ name: 'shared', mountPath: '/s' }];
  const sidecar = (name: string, start: string, change: Partial<PodContainer> = {}) =>
    shell(name, `trap 'echo ${name} ends >> /s/log; cat /s/log; exit 0' TERM; ${start} ${FOREVER}`, {
      restartPolicy: 'Always',
      volumeMounts,
      ...change,
    });
  const hook = (script: string) => ({ exec: { command: ['sh', '-c', script] } });
  await cluster.create(
    PODS,
    namespace.name,
    podOf('order', {
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [
        sidecar('one', 'sleep 2; touch /s/ready;', {
          startupProbe: { exec: { command: ['test', '-f', '/s/ready'] }, periodSeconds: 1, failureThreshold: 30 },
        }),
        shell('setup', 'test -f /s/ready && echo setup >> /s/log', { volumeMounts }),
        sidecar('two', '', { lifecycle: { preStop: hook('echo two hook >> /s/log') } }),
      ],
      containers: [
        shell('first', 'until grep -q second /s/log; do sleep 0.1; done; sleep 1', {
          volumeMounts,
          lifecycle: { postStart: hook('sleep 1; echo first hook >> /s/log') },
        }),
        shell('second', 'echo second >> /s/log', { volumeMounts }),
      ],
    }),
  );
  const pod = await untilEnded(namespace.name, 'order');
  expect(pod.status?.phase).toBe('Succeeded');
  const all = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  expect(all.map(({ name, restartCount, state }) => [name, restartCount, state?.terminated?.exitCode])).toEqual(
    ['one', 'setup', 'two', 'first', 'second'].map((name) => [name, 0, 0]),
  );
  const log = await cluster.mustKubectl(['-n', namespace.name, 'logs', 'order', '-c', 'one']);
  expect(log.trim().split('\n')).toEqual(['setup', 'first hook', 'second', 'two hook', 'two ends', 'one ends']);
});

test('containers end with the codes, reasons and messages of Kubernetes', async () => {
  await using namespace = await cluster.namespace();
  const stopped = shell('main', `trap 'echo stopped by USR1; exit 3' USR1; ${FOREVER}`, {
    lifecycle: { stopSignal: 'SIGUSR1' },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
  });
  const ruled = shell('main', 'test -f /s/tried && exit 1; touch /s/tried; exit 42', {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    volumeMounts: [{ name: 'shared', mountPath: '/s' }],
  });
  const pods: readonly Pod[] = [
    podOf('stopped', { os: { name: 'linux' }, containers: [stopped] }),
    podOf(
      'ruled',
      { restartPolicy: 'Always', containers: [ruled], volumes: [{ name: 'shared', emptyDir: {} }] },
      { 'gantry.dev/max-restart-delay-seconds': '1' },
    ),
    podOf('greedy', { containers: [shell('main', 'tail /dev/zero', { resources: { limits: { memory: '16Mi' } } })] }),
    podOf('missing', { containers: [shell('main', '', { command: ['/no-such-program'] })] }),
    podOf('late', { activeDeadlineSeconds: 2, containers: [shell('main', `trap 'exit 0' TERM; ${FOREVER}`)] }),
  ];
  for (const pod of pods) await cluster.create(PODS, namespace.name, pod);
  const [byProbe, byRule, byMemory, byStart, byTime] = await Promise.all(
    pods.map(({ metadata }) => untilEnded(namespace.name, metadata.name ?? '')),
  );
  if (!byProbe || !byRule || !byMemory || !byStart || !byTime) throw new Error('a pod is missing');
  expect([byProbe, byRule, byMemory, byStart, byTime].map(({ status }) => status?.phase)).toEqual(
    Array(5).fill('Failed'),
  );
  expect(main(byProbe)?.state?.terminated).toMatchObject({
    exitCode: 3,
    reason: 'Error',
    message: 'stopped by USR1\n',
  });
  expect(main(byProbe)?.stopSignal).toBe('SIGUSR1');
  expect(main(byRule)).toMatchObject({
    restartCount: 1,
    state: { terminated: { exitCode: 1 } },
    lastState: { terminated: { exitCode: 42 } },
  });
  expect(main(byMemory)?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  expect(main(byStart)?.state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
  expect(byTime.status).toMatchObject({ reason: 'DeadlineExceeded' });
});

test('kubectl debug looks into a running container once, a resize keeps it running, a hook sends a request before the end', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const resources = { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  await cluster.create(PODS, namespace.name, podOf('server', { containers: [{ name: 'nginx', image: 'nginx:1.27' }] }));
  await cluster.create(
    PODS,
    namespace.name,
    podOf('web', { containers: [shell('main', `trap 'exit 0' TERM; ${FOREVER}`, { resources })] }),
  );
  await kubectl('wait', 'pod', 'server', 'web', '--for=condition=Ready', '--timeout=60s');
  await kubectl('debug', 'web', `--image=${IMAGE}`, '--target=main', '-c', 'look', '--', 'cat', '/proc/1/cmdline');
  const looked = await eventually('the ephemeral container has ended', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'web');
    return status?.ephemeralContainerStatuses?.find(({ state }) => state?.terminated !== undefined);
  });
  expect(looked).toMatchObject({ name: 'look', restartCount: 0, state: { terminated: { exitCode: 0 } } });
  expect(await kubectl('logs', 'web', '-c', 'look')).toContain('trap');

  const larger = { requests: { cpu: '20m', memory: '64Mi' }, limits: { cpu: '400m', memory: '96Mi' } };
  const patch = JSON.stringify({ spec: { containers: [{ name: 'main', resources: larger }] } });
  await kubectl('patch', 'pod', 'web', '--subresource=resize', '--type=strategic', `--patch=${patch}`);
  const resized = await eventually('the new limits are in force', PATIENCE_MS, async () => {
    const pod = await cluster.get(PODS, namespace.name, 'web');
    const isPending = pod.status?.conditions?.some(({ type }) => type.startsWith('PodResize')) === true;
    return !isPending && main(pod)?.resources?.limits?.['memory'] === '96Mi' ? main(pod) : undefined;
  });
  expect(resized).toMatchObject({ restartCount: 0, allocatedResources: { cpu: '20m' } });
  const id = resized.containerID?.replace('docker://', '') ?? '';
  const limits = await cluster.docker(['inspect', '-f', '{{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}', id]);
  expect(limits.trim()).toBe(`${96 * 2 ** 20} 40000`);

  await eventually('Events say that the resize began and ended', PATIENCE_MS, async () => {
    const events = (await cluster.list(EVENTS, namespace.name)).filter(
      ({ involvedObject }) => involvedObject.name === 'web',
    );
    return ['ResizeStarted', 'ResizeCompleted'].every((each) => events.some(({ reason }) => reason === each));
  });

  const { status } = await cluster.get(PODS, namespace.name, 'server');
  const preStop = { httpGet: { host: status?.podIP ?? '', port: 80, path: '/goodbye' } };
  const volumeMounts = [{ name: 'files', mountPath: '/f' }];
  const fileKeyRef = { volumeName: 'files', path: 'of/env', key: 'GREETING' };
  const caller = shell('main', `trap 'exit 0' TERM; echo "$GREETING"; ${FOREVER}`, {
    env: [{ name: 'GREETING', valueFrom: { fileKeyRef } }],
    lifecycle: { preStop },
  });
  await cluster.create(
    PODS,
    namespace.name,
    podOf('caller', {
      volumes: [{ name: 'files', emptyDir: {} }],
      initContainers: [shell('write', `mkdir /f/of; echo "GREETING='hello'" > /f/of/env`, { volumeMounts })],
      containers: [caller],
    }),
  );
  await kubectl('wait', 'pod', 'caller', '--for=condition=Ready', '--timeout=60s');
  expect(await kubectl('logs', 'caller')).toBe('hello\n');
  await kubectl('delete', 'pod', 'caller', '--timeout=60s');
  expect(await kubectl('logs', 'server')).toMatch(/"GET \/goodbye HTTP\/1.1" 404 .*"kube-lifecycle\/1\.36"/);
});
