/** The lives of containers on a real engine: hooks, sidecars, ephemeral containers, restarts and ends. */
import { type Container as PodContainer, type ContainerStatus, EVENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { issueServerIdentity } from '../harness/test-pki.ts';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const PATIENCE_MS = 120_000;
const FOREVER = 'while :; do sleep 0.1; done';
/** What a busy machine answers late has not failed. */
const EVERY_SECOND = { periodSeconds: 1, timeoutSeconds: 60 };
/** Succeeds once the container has set its traps: before, its first process ignores signals. */
const IS_UP = { exec: { command: ['test', '-f', '/tmp/up'] }, ...EVERY_SECOND, failureThreshold: 60 };

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
      terminationGracePeriodSeconds: 60,
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [
        sidecar('one', 'sleep 2; touch /s/ready;', {
          startupProbe: { exec: { command: ['test', '-f', '/s/ready'] }, ...EVERY_SECOND, failureThreshold: 60 },
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
  const stopped = shell('main', `trap 'echo stopped by USR1; exit 3' USR1; touch /tmp/up; ${FOREVER}`, {
    lifecycle: { stopSignal: 'SIGUSR1' },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    startupProbe: IS_UP,
    livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
  });
  const ruled = shell('main', 'test -f /s/tried && exit 1; touch /s/tried; exit 42', {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    volumeMounts: [{ name: 'shared', mountPath: '/s' }],
  });
  // An engine watches the memory of a container once it has started it.
  const greedy = shell('main', 'until test -f /go; do sleep 0.1; done; exec tail /dev/zero', {
    resources: { limits: { memory: '64Mi' } },
  });
  const pods: readonly Pod[] = [
    podOf('stopped', { terminationGracePeriodSeconds: 60, os: { name: 'linux' }, containers: [stopped] }),
    podOf(
      'ruled',
      { restartPolicy: 'Always', containers: [ruled], volumes: [{ name: 'shared', emptyDir: {} }] },
      { 'gantry.dev/max-restart-delay-seconds': '1' },
    ),
    podOf('greedy', { containers: [greedy] }),
    podOf('missing', { containers: [shell('main', '', { command: ['/no-such-program'] })] }),
    podOf('late', { activeDeadlineSeconds: 2, containers: [shell('main', `trap 'exit 0' TERM; ${FOREVER}`)] }),
  ];
  for (const pod of pods) await cluster.create(PODS, namespace.name, pod);
  await cluster.mustKubectl(['-n', namespace.name, 'wait', 'pod', 'greedy', '--for=condition=Ready', '--timeout=120s']);
  await cluster.mustKubectl(['-n', namespace.name, 'exec', 'greedy', '--', 'touch', '/go']);
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
  expect(main(byMemory)?.state?.terminated?.exitCode).toBe(137);
  // The engine may hear of the kernel's kill after it has heard of the container's end.
  await eventually('the reason is the kill for memory', PATIENCE_MS, async () => {
    const reported = main(await cluster.get(PODS, namespace.name, 'greedy'));
    return reported?.state?.terminated?.reason === 'OOMKilled';
  });
  expect(main(byStart)?.state?.terminated).toMatchObject({ exitCode: 128, reason: 'ContainerCannotRun' });
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
  await kubectl('wait', 'pod', 'server', 'web', '--for=condition=Ready', '--timeout=120s');
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
  await kubectl('wait', 'pod', 'caller', '--for=condition=Ready', '--timeout=120s');
  // A container that is ready has not necessarily written yet, and nginx logs a request after its response.
  await eventually('it has written', PATIENCE_MS, async () => (await kubectl('logs', 'caller')) === 'hello\n');
  await kubectl('delete', 'pod', 'caller', '--timeout=120s');
  await eventually('its request is logged', PATIENCE_MS, async () =>
    /"GET \/goodbye HTTP\/1.1" 404 .*"kube-lifecycle\/1\.36"/.test(await kubectl('logs', 'server')),
  );
});

test('a container is stopped by its hook, its signal and, after its grace period, by force; it is started again later and later', async () => {
  await using namespace = await cluster.namespace();
  const image = `gantry.test/${namespace.name}:stop`;
  const base = await cluster.docker(['create', '--stop-signal', 'SIGUSR2', IMAGE]);
  try {
    await cluster.docker(['commit', base, image]);
    const say = (word: string) => `printf "${word} " >> /dev/termination-log`;
    const preStop = { exec: { command: ['sh', '-c', `sleep 0.5; ${say('hook')}`] } };
    /** Ended by its liveness probe as soon as it listens to signals. */
    const stopped = (traps: string, change: Partial<PodContainer> = {}) =>
      shell('main', `${traps}; touch /tmp/up; ${FOREVER}`, {
        startupProbe: IS_UP,
        livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
        ...change,
      });
    const term = `trap '${say('term')}; exit 5' TERM`;
    const byImage = `trap '${say('usr2')}; exit 6' USR2; trap '' TERM`;
    const patient = { terminationGracePeriodSeconds: 60 };
    const pods: readonly Pod[] = [
      podOf('politely', { ...patient, containers: [stopped(term, { lifecycle: { preStop } })] }),
      podOf('by-image', { ...patient, containers: [stopped(byImage, { image })] }),
      podOf('by-force', { terminationGracePeriodSeconds: 2, containers: [stopped(`trap '' TERM`)] }),
      podOf('done', { restartPolicy: 'OnFailure', containers: [shell('main', 'exit 0')] }),
    ];
    for (const pod of pods) await cluster.create(PODS, namespace.name, pod);
    const ended = await Promise.all(pods.map(({ metadata }) => untilEnded(namespace.name, metadata.name ?? '')));
    const ends = ended.map((pod) => {
      const { exitCode, reason, message } = main(pod)?.state?.terminated ?? {};
      return [pod.status?.phase, exitCode, reason, message, main(pod)?.restartCount];
    });
    expect(ends).toEqual([
      ['Failed', 5, 'Error', 'hook term ', 0],
      ['Failed', 6, 'Error', 'usr2 ', 0],
      ['Failed', 137, 'Error', undefined, 0],
      ['Succeeded', 0, 'Completed', undefined, 0],
    ]);
  } finally {
    await cluster.kubectl(['delete', 'pod', '--all', '-n', namespace.name]);
    await cluster.docker(['rm', base]);
    // The API server lets a pod that runs nothing go before its node has removed the container, which uses the image.
    await eventually('the image is removed', PATIENCE_MS, async () => {
      await cluster.docker(['rmi', image]);
      return true;
    });
  }

  const restarted = podOf('again', { restartPolicy: 'Always', containers: [shell('main', 'exit 7')] });
  await cluster.create(PODS, namespace.name, restarted);
  const waiting = await eventually('it waits for its second restart', PATIENCE_MS, async () => {
    const found = main(await cluster.get(PODS, namespace.name, 'again'));
    return found?.restartCount === 1 && found.state?.waiting !== undefined ? found : undefined;
  });
  expect(waiting.state?.waiting?.reason).toBe('CrashLoopBackOff');
  expect(waiting.state?.waiting?.message).toMatch(/^back-off 10s restarting failed container=main pod=again_/);
  expect(waiting.lastState?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
  const second = await eventually('it was restarted twice', PATIENCE_MS, async () => {
    const found = main(await cluster.get(PODS, namespace.name, 'again'));
    return found?.restartCount === 2 && found.state?.waiting !== undefined ? found : undefined;
  });
  expect(second.state?.waiting?.message).toMatch(/^back-off 20s /);
  const pausedMs =
    Date.parse(second.lastState?.terminated?.startedAt ?? '') -
    Date.parse(waiting.lastState?.terminated?.finishedAt ?? '');
  // The times of a status are whole seconds.
  expect(pausedMs).toBeGreaterThanOrEqual(9_000);
});

test('failures before a healthy spell do not delay the next restart', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  // Two attempts fail at once, the third one when it is told to.
  const script = [
    'echo >> /v/attempts; attempt=$(wc -l < /v/attempts)',
    '[ $attempt -lt 3 ] && exit 1',
    'until [ $attempt -eq 3 ] && [ -f /v/end ]; do sleep 0.1; done; exit 1',
  ].join('; ');
  const spec: Pod['spec'] = {
    restartPolicy: 'Always',
    containers: [shell('main', script, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
    volumes: [{ name: 'v', emptyDir: {} }],
  };
  const delaySeconds = 3;
  const annotations = { 'gantry.dev/max-restart-delay-seconds': `${delaySeconds}` };
  await cluster.create(PODS, namespace.name, podOf('spell', spec, annotations));
  const runs = (restarts: number) => async () => {
    const found = main(await cluster.get(PODS, namespace.name, 'spell'));
    return found?.restartCount === restarts && found.state?.running !== undefined ? found.state.running : undefined;
  };
  const delays = async () =>
    (await cluster.list(EVENTS, namespace.name))
      .filter(({ reason }) => reason === 'BackOff')
      .reduce((sum, { count = 1 }) => sum + count, 0);
  const { startedAt = '' } = await eventually('the third attempt runs', PATIENCE_MS, runs(2));
  await eventually('an Event says that it had to wait', PATIENCE_MS, async () => (await delays()) > 0);
  // One second more, since the times of a status are whole seconds.
  const healthyMs = (2 * delaySeconds + 1) * 1000;
  await eventually(
    'it has run for twice the longest delay',
    PATIENCE_MS,
    () => Date.now() - Date.parse(startedAt) > healthyMs,
  );
  const before = await delays();
  await kubectl('exec', 'spell', '--', 'touch', '/v/end');
  await eventually('the fourth attempt runs', PATIENCE_MS, runs(3));
  expect(await delays()).toBe(before);
});

/** Answers probes: HTTP that is ready from the third request on, HTTPS, and gRPC's health service until /tmp/bad exists. */
const PROBED = `
const fs = require('fs');
let asked = 0;
require('http').createServer((request, response) => {
  asked += request.headers['x-probe'] === 'yes' ? 1 : 0;
  response.writeHead(asked > 2 ? 200 : 503).end(String(asked));
}).listen(8080);
require('https').createServer({ key: process.env.KEY, cert: process.env.CERT }, (_, response) => response.end('ok')).listen(8443);
require('http2').createServer().on('stream', (stream, headers) => {
  const state = headers[':path'] === '/grpc.health.v1.Health/Check' && !fs.existsSync('/tmp/bad') ? 1 : 2;
  stream.resume().once('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, state]));
  });
}).listen(9000);
process.on('SIGTERM', () => process.exit(0));
`;

test('probes of each kind decide on the readiness and the life of a container, and gates on that of its pod', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
  const { key, cert } = await issueServerIdentity();
  const server: PodContainer = {
    name: 'server',
    image: await cluster.serviceImage(),
    command: ['node', '-e', PROBED],
    env: [
      { name: 'KEY', value: key },
      { name: 'CERT', value: cert },
    ],
    startupProbe: { httpGet: { port: 8443, scheme: 'HTTPS' }, ...EVERY_SECOND, failureThreshold: 60 },
    readinessProbe: {
      httpGet: { port: 8080, path: '/ready', httpHeaders: [{ name: 'X-Probe', value: 'yes' }] },
      ...EVERY_SECOND,
      successThreshold: 3,
    },
    livenessProbe: { grpc: { port: 9000 }, ...EVERY_SECOND, failureThreshold: 2 },
  };
  const beside = shell('beside', `trap 'exit 0' TERM; ${FOREVER}`, {
    readinessProbe: { exec: { command: ['test', '-f', '/tmp/ready'] }, ...EVERY_SECOND },
    livenessProbe: { tcpSocket: { port: 8080 }, ...EVERY_SECOND, failureThreshold: 60 },
  });
  const gate = 'gantry.test/gate';
  await cluster.create(
    PODS,
    namespace.name,
    podOf(
      'probed',
      { restartPolicy: 'Always', readinessGates: [{ conditionType: gate }], containers: [server, beside] },
      { 'gantry.dev/max-restart-delay-seconds': '1' },
    ),
  );
  const look = () => cluster.get(PODS, namespace.name, 'probed');
  const until = (what: string, done: (pod: Pod) => boolean) =>
    eventually(what, PATIENCE_MS, async () => {
      const pod = await look();
      return done(pod) ? pod : undefined;
    });
  const of = ({ status }: Pod, name: string) => status?.containerStatuses?.find((one) => one.name === name);
  const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);

  const first = await until(
    'HTTP says that the server is ready, and the one beside it runs',
    (pod) => of(pod, 'server')?.ready === true && of(pod, 'beside')?.started === true,
  );
  expect(of(first, 'beside')).toMatchObject({ started: true, ready: false });
  expect(condition(first, 'ContainersReady')).toMatchObject({ status: 'False', reason: 'ContainersNotReady' });
  // Two refused, and three in a row that were answered.
  const asked = await kubectl('exec', 'probed', '-c', 'beside', '--', 'wget', '-qO-', 'http://127.0.0.1:8080/');
  expect(Number(asked)).toBeGreaterThanOrEqual(5);

  await kubectl('exec', 'probed', '-c', 'beside', '--', 'touch', '/tmp/ready');
  const gated = await until('all containers are ready', (pod) => condition(pod, 'ContainersReady')?.status === 'True');
  expect(condition(gated, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
  const opened = JSON.stringify({ status: { conditions: [{ type: gate, status: 'True' }] } });
  await kubectl('patch', 'pod', 'probed', '--subresource=status', '--type=strategic', `--patch=${opened}`);
  await until('its gate is open', isReady);

  await kubectl('exec', 'probed', '-c', 'server', '--', 'node', '-e', "require('fs').writeFileSync('/tmp/bad', '')");
  const again = await until('gRPC has ended the server', (pod) => of(pod, 'server')?.restartCount === 1);
  expect(of(again, 'server')?.lastState?.terminated?.exitCode).toBe(0);
  expect(of(again, 'beside')?.restartCount).toBe(0);
  await eventually('Events say why', PATIENCE_MS, async () => {
    const messages = (await cluster.list(EVENTS, namespace.name)).map(({ message = '' }) => message);
    return ['Liveness probe failed: ', 'Container server failed liveness probe, will be restarted'].every((text) =>
      messages.some((message) => message.startsWith(text)),
    );
  });
});
