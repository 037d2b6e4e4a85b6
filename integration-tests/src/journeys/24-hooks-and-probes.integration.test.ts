/** Hooks, init containers and sidecars that fail, and what probes wait for, on real containers. */
import { type Container as PodContainer, type ContainerStatus, EVENTS, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster, isReady } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = new Cluster();
const IMAGE = 'busybox:1.36';
const PATIENCE_MS = 120_000;
const FOREVER = 'while :; do sleep 0.1; done';
/** The times of a status and of an Event are whole seconds. */
const ROUNDING_MS = 1_000;

const volumes = [{ name: 'shared', emptyDir: {} }];
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } });

/** A container that sees `/s`, which all containers of its pod share. */
const shell = (name: string, script: string, change: Partial<PodContainer> = {}): PodContainer => ({
  name,
  image: IMAGE,
  command: ['sh', '-c', script],
  volumeMounts: [{ name: 'shared', mountPath: '/s' }],
  ...change,
});

const podOf = (name: string, spec: Pod['spec']): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, annotations: { 'gantry.dev/max-restart-delay-seconds': '1' } },
  spec: { terminationGracePeriodSeconds: 10, restartPolicy: 'Never', volumes, containers: [], ...spec },
});

const main = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0];

/** What tests do with the pods of one namespace. */
const inNamespace = (namespace: string) => {
  const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace, ...args]);
  const read = (name: string) => cluster.get(PODS, namespace, name);
  const until = (what: string, name: string, holds: (pod: Pod) => boolean | undefined) =>
    eventually(`${name} ${what}`, PATIENCE_MS, async () => {
      const pod = await read(name);
      return holds(pod) === true ? pod : undefined;
    });
  const eventsOf = async (name: string) =>
    (await cluster.list(EVENTS, namespace)).filter(({ involvedObject }) => involvedObject.name === name);
  return {
    kubectl,
    read,
    until,
    eventsOf,
    create: (pod: Pod) => cluster.create(PODS, namespace, pod),
    untilEnded: (name: string) =>
      until('has ended', name, ({ status }) => /Succeeded|Failed/.test(status?.phase ?? '')),
    untilEvent: (name: string, reason: string) =>
      eventually(`${name} has an Event ${reason}`, PATIENCE_MS, async () =>
        (await eventsOf(name)).find((event) => event.reason === reason),
      ),
  };
};

test('a container whose postStart hook fails is stopped by its signal, waits with the reason, and is started again', async () => {
  await using namespace = await cluster.namespace();
  const { create, until, untilEvent, eventsOf } = inNamespace(namespace.name);
  // The hook fails once the container may be stopped; the second time it waits for the word to succeed.
  const hook =
    'until [ -f /s/trapped ]; do sleep 0.1; done; [ -f /s/failed ] && exit 0; touch /s/failed; echo secret; exit 5';
  const script = `trap 'exit 7' TERM; touch /s/trapped; ${FOREVER}`;
  const containers = [shell('main', script, { lifecycle: { postStart: exec(hook) } })];
  await create(podOf('hooked', { restartPolicy: 'Always', containers }));
  const after = await until('runs again', 'hooked', (pod) => isReady(pod) && main(pod)?.restartCount === 1);
  expect(main(after)?.lastState?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
  const { type, message } = await untilEvent('hooked', 'FailedPostStartHook');
  expect([type, message]).toEqual(['Warning', 'PostStartHook failed']);
  expect((await untilEvent('hooked', 'Killing')).message).toBe('FailedPostStartHook');
  expect(JSON.stringify(await eventsOf('hooked'))).not.toContain('secret');

  const never = [
    shell('main', script, { lifecycle: { postStart: exec(hook.replace('[ -f /s/failed ] && exit 0;', '')) } }),
  ];
  await create(podOf('failing', { restartPolicy: 'Always', containers: never }));
  const waiting = await until('waits', 'failing', (pod) => main(pod)?.state?.waiting?.reason === 'PostStartHookError');
  expect(main(waiting)?.state?.waiting?.message).toMatch(
    /^Exec lifecycle hook .*failed - error: command .*exited with 5/,
  );
});

test('a container is stopped whether its preStop hook fails, sleeps or takes all of its grace period', async () => {
  await using namespace = await cluster.namespace();
  const { create, kubectl, until, untilEvent, untilEnded, eventsOf } = inNamespace(namespace.name);
  const stopped = (preStop: NonNullable<PodContainer['lifecycle']>['preStop'], handler = 'echo stopped; exit 3') =>
    shell('main', `trap '${handler}' TERM; touch /s/trapped; ${FOREVER}`, {
      lifecycle: { ...(preStop === undefined ? {} : { preStop }) },
      readinessProbe: { ...exec('test -f /s/trapped'), periodSeconds: 1 },
      // What a busy machine answers late has not failed.
      livenessProbe: { ...exec('test ! -f /s/end'), periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 1 },
    });
  const sleepSeconds = 4;
  const pods: readonly Pod[] = [
    podOf('failing', { terminationGracePeriodSeconds: 60, containers: [stopped(exec('echo secret; exit 4'))] }),
    podOf('sleeping', {
      terminationGracePeriodSeconds: 60,
      containers: [stopped({ sleep: { seconds: sleepSeconds } })],
    }),
    // Signalled when its grace period is over, it still gets two seconds.
    podOf('endless', {
      terminationGracePeriodSeconds: 1,
      containers: [stopped(exec('sleep 3600'), 'sleep 0.2; echo stopped; exit 3')],
    }),
  ];
  for (const pod of pods) await create(pod);
  for (const { metadata } of pods) {
    const name = metadata.name ?? '';
    await until('is ready', name, isReady);
    await kubectl('exec', name, '--', 'touch', '/s/end');
    const ended = await untilEnded(name);
    expect(main(ended)?.state?.terminated?.exitCode, name).toBe(3);
    expect(await kubectl('logs', name), name).toBe('stopped\n');
  }
  const { type, message } = await untilEvent('failing', 'FailedPreStopHook');
  expect([type, message]).toEqual(['Warning', 'PreStopHook failed']);
  for (const name of ['sleeping', 'endless'])
    expect((await eventsOf(name)).map(({ reason }) => reason)).not.toContain('FailedPreStopHook');
  const { firstTimestamp = '' } = await untilEvent('sleeping', 'Killing');
  const { finishedAt = '' } = main(await untilEnded('sleeping'))?.state?.terminated ?? {};
  expect(Date.parse(finishedAt) - Date.parse(firstTimestamp)).toBeGreaterThanOrEqual(sleepSeconds * 1000 - ROUNDING_MS);
});

test('a container starts after the sleep of the postStart hook before it', async () => {
  await using namespace = await cluster.namespace();
  const { create, untilEnded } = inNamespace(namespace.name);
  const seconds = 4;
  const containers = [
    shell('first', 'until [ -f /s/second ]; do sleep 0.1; done', { lifecycle: { postStart: { sleep: { seconds } } } }),
    shell('second', 'touch /s/second'),
  ];
  await create(podOf('slow', { containers }));
  const { status } = await untilEnded('slow');
  const [first = 0, second = 0] = (status?.containerStatuses ?? []).map(({ state }) =>
    Date.parse(state?.terminated?.startedAt ?? ''),
  );
  expect(second - first).toBeGreaterThanOrEqual(seconds * 1000 - ROUNDING_MS);
});

test('a sidecar that ends is started again beside its main container, also where the pod never restarts', async () => {
  await using namespace = await cluster.namespace();
  const { create, untilEnded } = inNamespace(namespace.name);
  const sidecar = `echo >> /s/runs; [ $(wc -l < /s/runs) -gt 1 ] || exit 3; trap 'exit 0' TERM; touch /s/trapped; ${FOREVER}`;
  const spec: Pod['spec'] = {
    initContainers: [shell('sidecar', sidecar, { restartPolicy: 'Always' })],
    containers: [shell('main', 'until [ -f /s/trapped ]; do sleep 0.1; done')],
  };
  await create(podOf('helped', spec));
  const ended = await untilEnded('helped');
  expect(ended.status?.phase).toBe('Succeeded');
  expect(main(ended)).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
  expect(ended.status?.initContainerStatuses?.[0]).toMatchObject({
    restartCount: 1,
    state: { terminated: { exitCode: 0 } },
    lastState: { terminated: { exitCode: 3, reason: 'Error' } },
  });
});

test('an init container that fails ends a pod that never restarts, and is started again later and later in another one', async () => {
  await using namespace = await cluster.namespace();
  const { create, untilEnded, until, untilEvent } = inNamespace(namespace.name);
  const setup = 'echo >> /s/runs; [ $(wc -l < /s/runs) -gt 2 ] || exit 4; until [ -f /s/go ]; do sleep 0.1; done';
  const spec = { initContainers: [shell('setup', setup)], containers: [shell('main', FOREVER)] };
  await create(podOf('never', spec));
  const failed = await untilEnded('never');
  expect(failed.status?.phase).toBe('Failed');
  expect(failed.status?.initContainerStatuses?.[0]).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 4 } },
  });
  expect(main(failed)?.state?.waiting?.reason).toBe('PodInitializing');
  const label = `label=io.kubernetes.pod.uid=${failed.metadata.uid}`;
  expect(await cluster.podContainers([label, 'label=io.kubernetes.container.name=main'], 'all')).toEqual([]);

  const { status } = await create(podOf('always', { ...spec, restartPolicy: 'Always' })).then(() =>
    until('runs its third attempt', 'always', ({ status }) => {
      const init = status?.initContainerStatuses?.[0];
      return init?.restartCount === 2 && init.state?.running !== undefined;
    }),
  );
  expect(status?.phase).toBe('Pending');
  expect(status?.conditions?.find(({ type }) => type === 'Initialized')).toMatchObject({
    status: 'False',
    message: 'containers with incomplete status: [setup]',
  });
  expect((await untilEvent('always', 'BackOff')).message).toContain(
    'Back-off restarting failed container setup in pod',
  );
  const { kubectl } = inNamespace(namespace.name);
  await kubectl('exec', 'always', '-c', 'setup', '--', 'touch', '/s/go');
  const after = await until('is ready', 'always', isReady);
  expect(main(after)?.restartCount).toBe(0);
});

test('a probe has a grace period of its own, begins after its delay, and waits for the startup probe', async () => {
  await using namespace = await cluster.namespace();
  const { create, until, untilEnded, kubectl, read, eventsOf } = inNamespace(namespace.name);
  const every = { periodSeconds: 1, timeoutSeconds: 60 };
  const delaySeconds = 5;
  const pods: readonly Pod[] = [
    // It does not end by its signal, and its pod would wait for an hour.
    podOf('stubborn', {
      terminationGracePeriodSeconds: 3_600,
      containers: [
        shell('main', `trap '' TERM; touch /s/trapped; ${FOREVER}`, {
          livenessProbe: {
            ...exec('test ! -f /s/trapped'),
            ...every,
            failureThreshold: 1,
            terminationGracePeriodSeconds: 1,
          },
        }),
      ],
    }),
    podOf('delayed', {
      containers: [
        shell('main', FOREVER, { readinessProbe: { ...exec('true'), ...every, initialDelaySeconds: delaySeconds } }),
      ],
    }),
    podOf('starting', {
      containers: [
        shell('main', FOREVER, {
          startupProbe: { ...exec('test -f /s/up'), ...every, failureThreshold: 1_000 },
          readinessProbe: { ...exec('touch /s/ready'), ...every },
          livenessProbe: { ...exec('touch /s/lived'), ...every },
        }),
      ],
    }),
  ];
  for (const pod of pods) await create(pod);
  expect(main(await untilEnded('stubborn'))?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });

  const delayed = await until('is ready', 'delayed', isReady);
  const readyAt = delayed.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
  const startedAt = main(delayed)?.state?.running?.startedAt ?? '';
  const waitedMs = Date.parse(readyAt) - Date.parse(startedAt);
  expect(waitedMs).toBeGreaterThanOrEqual(delaySeconds * 1000 - ROUNDING_MS);

  await eventually('the startup probe has failed several times', PATIENCE_MS, async () =>
    (await eventsOf('starting')).some(
      ({ reason, message = '', count = 1 }) =>
        reason === 'Unhealthy' && message.startsWith('Startup probe failed') && count >= 4,
    ),
  );
  const files = () => kubectl('exec', 'starting', '--', 'ls', '/s');
  expect(await files()).toBe('');
  expect(main(await read('starting'))).toMatchObject({ started: false, ready: false, restartCount: 0 });
  await kubectl('exec', 'starting', '--', 'touch', '/s/up');
  const started = await until('is ready', 'starting', isReady);
  expect(main(started)).toMatchObject({ started: true, restartCount: 0 });
  await eventually('both other probes run', PATIENCE_MS, async () => (await files()) === 'lived\nready\nup\n');
});

test("no more than two commands of a pod's probes run at once, and those of another pod go on beside them", async () => {
  await using namespace = await cluster.namespace();
  const { create, until, kubectl } = inNamespace(namespace.name);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const command = (name: string) => exec(`echo ${name} begins >> /s/log; sleep 3; echo ${name} ends >> /s/log`);
  const containers = names.map((name) =>
    shell(name, FOREVER, { readinessProbe: { ...command(name), periodSeconds: 1, timeoutSeconds: 60 } }),
  );
  await create(podOf('busy', { containers }));
  const busy = await until('is ready', 'busy', isReady);
  const other = podOf('other', {
    containers: [shell('main', FOREVER, { readinessProbe: { ...exec('true'), periodSeconds: 1 } })],
  });
  await create({ ...other, spec: { containers: [], ...other.spec, nodeName: busy.spec?.nodeName ?? '' } });
  await until('is ready', 'other', isReady);
  const log = (await kubectl('exec', 'busy', '-c', 'a', '--', 'cat', '/s/log')).trim().split('\n');
  let running = 0;
  const counts = log.map((line) => (running += line.endsWith('begins') ? 1 : -1));
  expect(Math.max(...counts)).toBe(2);
  expect(new Set(log.map((line) => line.split(' ')[0]))).toEqual(new Set(names));
});
