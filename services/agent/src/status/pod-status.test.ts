import { describe, expect, it } from 'vitest';
import type { Pod, PodStatus } from '@gantry/objects';
import { computePodActions } from '../plan/plan.ts';
import { emptyMemory, type PodMemory } from '../plan/pod-memory.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { PodState } from '../runtime/observer.ts';
import { container, exited, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { podStatus } from './pod-status.ts';

const MOUNTED: PodMemory = { ...emptyMemory, volumes: 'ready' };

function statusOf(
  object: Pod,
  state: PodState | undefined,
  memory = MOUNTED,
  messages = new Map<string, string>(),
  recursiveReadOnly: EngineInfo['recursiveReadOnly'] = 'supported',
): PodStatus {
  const plan = computePodActions(object, state, memory, NOW);
  const observed = { pod: object, state, memory, plan, nodeAddress: '10.0.0.1', messages, recursiveReadOnly };
  return podStatus(observed, NOW);
}

function conditions(status: PodStatus): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: value, reason }) => [
      type,
      reason === undefined ? value : `${value} ${reason}`,
    ]),
  );
}

describe('the status of a pod', () => {
  it('bounds the termination messages of all containers together', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const containers = names.map((name) => container(name));
    const messages = new Map(names.map((name) => [`${name}-0`, 'é'.repeat(2048)]));
    const state = podState(
      [sandbox()],
      names.map((name) => exited(1, { name })),
    );
    const status = statusOf(pod({ containers, restartPolicy: 'Never' }), state, MOUNTED, messages);
    const lengths = status.containerStatuses?.map((each) => Buffer.byteLength(each.state?.terminated?.message ?? ''));
    expect(lengths).toEqual(names.map(() => 2048));
  });

  it('shows the signal that a container is stopped by where its pod names one', () => {
    const containers = [container('a', { lifecycle: { stopSignal: 'SIGUSR1' } }), container('b')];
    const state = podState([sandbox()], [running({ name: 'a' }), running({ name: 'b' })]);
    const { containerStatuses } = statusOf(pod({ containers, os: { name: 'linux' } }), state);
    expect(containerStatuses?.map(({ stopSignal }) => stopSignal)).toEqual(['SIGUSR1', undefined]);
  });

  it('shows the ids of the first process of a container where they are known, also of one that has ended', () => {
    const processUser = { uid: 5, gid: 7, groups: [7, 50] };
    const containers = [container('a'), container('b'), container('c')];
    const state = podState(
      [sandbox()],
      [running({ name: 'a', processUser }), exited(1, { name: 'b', processUser }), running({ name: 'c' })],
    );
    const { containerStatuses } = statusOf(pod({ containers, restartPolicy: 'Never' }), state);
    const user = { linux: { uid: 5, gid: 7, supplementalGroups: [7, 50] } };
    expect(containerStatuses?.map((one) => one.user)).toEqual([user, user, undefined]);
  });

  it('is Pending with containers being created at first', () => {
    const status = statusOf(pod(), undefined);
    expect(status).toMatchObject({
      phase: 'Pending',
      hostIP: '10.0.0.1',
      startTime: '2026-01-01T00:10:00Z',
      containerStatuses: [
        { ready: false, started: false, restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } },
      ],
    });
    expect(status).not.toHaveProperty('podIP');
    expect(conditions(status)).toEqual({
      PodReadyToStartContainers: 'False',
      Initialized: 'True',
      Ready: 'False ContainersNotReady',
      ContainersReady: 'False ContainersNotReady',
      PodScheduled: 'True',
    });
  });

  it('is Running and ready when its containers run', () => {
    const status = statusOf(pod(), podState([sandbox()], [running()]));
    expect(status).toMatchObject({
      phase: 'Running',
      podIP: '10.0.0.9',
      podIPs: [{ ip: '10.0.0.9' }],
      containerStatuses: [
        {
          ready: true,
          started: true,
          containerID: 'docker://main-0',
          imageID: 'sha256:1',
          state: { running: { startedAt: '2026-01-01T00:09:00Z' } },
          lastState: {},
        },
      ],
    });
    expect(conditions(status)).toMatchObject({
      Ready: 'True',
      ContainersReady: 'True',
      PodReadyToStartContainers: 'True',
    });
  });

  it('says what the pod was granted from its first report until after its end, and nothing of a pod that never ran', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '1' } };
    const spec: Partial<Pod['spec']> = { containers: [container('main', { resources })], restartPolicy: 'Never' };
    const granted = { resources, allocatedResources: resources.requests };
    const pending = statusOf(pod(spec), undefined);
    expect(pending).toMatchObject({ phase: 'Pending', ...granted });
    const started = podState([sandbox()], [running()]);
    expect(statusOf(pod(spec, pending), started)).toMatchObject({ phase: 'Running', ...granted });
    const ended = statusOf(pod(spec, pending), podState([sandbox()], [exited(0)]));
    expect(ended).toMatchObject({ phase: 'Succeeded', ...granted });
    expect(statusOf(pod(spec, ended), podState([], []))).toMatchObject({ phase: 'Succeeded', ...granted });
    expect(statusOf(pod(spec, { phase: 'Succeeded' }), undefined)).not.toHaveProperty('resources');
    const rejection = { reason: 'SysctlForbidden', message: 'no' };
    expect(statusOf(pod(spec), undefined, { ...MOUNTED, rejection })).not.toHaveProperty('resources');
    const deleted = { deletionTimestamp: '2026-01-01T00:09:00Z' };
    expect(statusOf(pod(spec, pending, deleted), started)).toMatchObject(granted);
  });

  it('is Failed, with the reason, for a pod that the node rejects', () => {
    const rejection = { reason: 'SysctlForbidden', message: 'forbidden sysctl: "kernel.msgmax" not allowlisted' };
    expect(statusOf(pod(), undefined, { ...MOUNTED, rejection })).toMatchObject({
      phase: 'Failed',
      reason: 'SysctlForbidden',
      message: 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted',
    });
    const ended = pod({}, { phase: 'Succeeded' });
    expect(statusOf(ended, undefined, { ...MOUNTED, rejection })).not.toHaveProperty('reason');
    // Otherwise kubectl would show the waiting reason of a container instead of this reason.
    const rejected = statusOf(pod(), undefined, { ...MOUNTED, rejection });
    expect(rejected).not.toHaveProperty('containerStatuses');
    expect(statusOf({ ...pod(), status: rejected }, undefined), 'as a later agent sees it').not.toHaveProperty(
      'containerStatuses',
    );
  });

  it('does not change when it is computed again from itself', () => {
    const state = podState([sandbox()], [running({ attempt: 1 }), exited(137)]);
    const first = statusOf(pod(), state);
    expect(
      podStatus(
        {
          pod: pod({}, first),
          state,
          memory: MOUNTED,
          plan: computePodActions(pod({}, first), state, MOUNTED, NOW),
          nodeAddress: '10.0.0.1',
          messages: new Map(),
          recursiveReadOnly: 'supported',
        },
        NOW + 60_000,
      ),
    ).toEqual(first);
  });

  it('says of each read-only mount whether all that is mounted below it is read-only, too', () => {
    const mount = { name: 'v', mountPath: '/v', readOnly: true };
    const volumeMounts = [
      { name: 'v', mountPath: '/w' },
      mount,
      { ...mount, recursiveReadOnly: 'IfPossible' },
      { ...mount, recursiveReadOnly: 'Enabled' },
    ];
    const object = pod({ containers: [container('main', { volumeMounts })], volumes: [{ name: 'v', emptyDir: {} }] });
    const seen = (recursiveReadOnly: EngineInfo['recursiveReadOnly']) => {
      const status = statusOf(object, podState([sandbox()], [running()]), MOUNTED, new Map(), recursiveReadOnly);
      return status.containerStatuses?.[0]?.volumeMounts?.map((one) => one.recursiveReadOnly);
    };
    expect(seen('supported')).toEqual([undefined, 'Disabled', 'Enabled', 'Enabled']);
    expect(seen('unsupported')).toEqual([undefined, 'Disabled', 'Disabled', 'Disabled']);
  });

  it('keeps the reported end of a container that was removed as the last state of its successor', () => {
    const terminated = { exitCode: 3, reason: 'Error', containerID: 'docker://main-0' };
    const reported = pod({}, { containerStatuses: [reportedStatus({ state: { terminated } })] });
    const lastState = (state: PodState) => statusOf(reported, state).containerStatuses?.[0]?.lastState;
    expect(lastState(podState([sandbox()], [running({ attempt: 1 })]))).toEqual({ terminated });
    expect(lastState(podState([sandbox()], [exited(3)]))).toEqual({});
  });

  it('keeps the reported last state while that attempt runs again beside its successor', () => {
    const reported = reportedStatus({
      restartCount: 1,
      lastState: { terminated: { exitCode: 137, containerID: 'docker://main-0' } },
    });
    const state = podState([sandbox()], [running({ attempt: 1 }), running()]);
    const status = statusOf(pod({}, { containerStatuses: [reported] }), state);
    expect(status.containerStatuses?.[0]).toMatchObject({
      containerID: 'docker://main-1',
      restartCount: 1,
      lastState: { terminated: { exitCode: 137 } },
    });
  });

  it('keeps the ended attempt as last state of the running one', () => {
    const status = statusOf(pod(), podState([sandbox()], [running({ attempt: 1 }), exited(137)]));
    expect(status.containerStatuses).toMatchObject([
      {
        restartCount: 1,
        lastState: { terminated: { exitCode: 137, reason: 'Error', containerID: 'docker://main-0' } },
      },
    ]);
  });

  it('shows a crash loop as waiting, with the last exit as last state', () => {
    const state = podState([sandbox()], [exited(1, { attempt: 2, restartDelayMs: 20_000 })]);
    const status = statusOf(pod(), state, MOUNTED, new Map([['main-2', 'out of cheese']]));
    expect(status).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          ready: false,
          restartCount: 2,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 1, message: 'out of cheese' } },
        },
      ],
    });
  });

  it.each([
    { exitCode: 0, restartPolicy: 'Never', phase: 'Succeeded', reason: 'Completed', ready: 'False PodCompleted' },
    { exitCode: 3, restartPolicy: 'Never', phase: 'Failed', reason: 'Error', ready: 'False PodFailed' },
    { exitCode: 0, restartPolicy: 'OnFailure', phase: 'Succeeded', reason: 'Completed', ready: 'False PodCompleted' },
  ])(
    'is $phase after exit code $exitCode under $restartPolicy',
    ({ exitCode, restartPolicy, phase, reason, ready }) => {
      const status = statusOf(pod({ restartPolicy }), podState([sandbox()], [exited(exitCode)]));
      expect(status).toMatchObject({ phase, containerStatuses: [{ state: { terminated: { exitCode, reason } } }] });
      expect(conditions(status)['Ready']).toBe(ready);
    },
  );

  it('is Running while a container waits for a restart by its own policy, and Failed when an init container gives up by its own', () => {
    const own = pod({ restartPolicy: 'Never', containers: [container('main', { restartPolicy: 'OnFailure' })] });
    expect(statusOf(own, podState([sandbox()], [exited(1)])).phase).toBe('Running');
    expect(statusOf(own, podState([sandbox()], [exited(0)])).phase).toBe('Succeeded');
    const init = pod({ initContainers: [container('a', { restartPolicy: 'Never' })] });
    expect(statusOf(init, podState([sandbox()], [exited(1, { name: 'a' })])).phase).toBe('Failed');
  });

  it.each([
    { codes: [0, 0], phase: 'Succeeded' },
    { codes: [0, 137], phase: 'Failed' },
    { codes: [], phase: 'Failed' },
  ])('is $phase for a deleted pod that ended with $codes, whatever its policy', ({ codes, phase }) => {
    const deleted = { deletionTimestamp: '2026-01-01T00:10:05Z', deletionGracePeriodSeconds: 5 };
    const object = pod({ containers: [container('a'), container('b')] }, {}, deleted);
    const ended = codes.map((exitCode, i) => exited(exitCode, { name: i === 0 ? 'a' : 'b' }));
    expect(statusOf(object, podState([sandbox()], ended)).phase).toBe(phase);
    expect(statusOf(object, podState([sandbox()], [running({ name: 'a' })])).phase).not.toBe(phase);
  });

  it('is Running until the sidecars of a pod that is done have ended, too', () => {
    const object = pod({ restartPolicy: 'Never', initContainers: [container('side', { restartPolicy: 'Always' })] });
    expect(statusOf(object, podState([sandbox()], [running({ name: 'side' }), exited(0)])).phase).toBe('Running');
    expect(statusOf(object, podState([sandbox()], [exited(143, { name: 'side' }), exited(0)])).phase).toBe('Succeeded');
  });

  it('shows ephemeral containers apart, and does not depend on them', () => {
    const object = pod({ ephemeralContainers: [container('look'), container('again')] });
    const status = statusOf(object, podState([sandbox()], [running(), exited(1, { name: 'look' })]));
    expect(status).toMatchObject({
      phase: 'Running',
      ephemeralContainerStatuses: [
        { name: 'look', ready: false, restartCount: 0, state: { terminated: { exitCode: 1 } } },
        { name: 'again', ready: false, state: { waiting: { reason: 'ContainerCreating' } } },
      ],
    });
    expect(conditions(status)['Ready']).toBe('True');
    expect(status.containerStatuses?.length).toBe(1);
  });

  it('keeps the reason of an OOM kill that only an event told an agent before', () => {
    const object = pod({ restartPolicy: 'Never' });
    const reported = statusOf(object, podState([sandbox()], [exited(137, { endedBy: 'oom' })]));
    const later = statusOf({ ...object, status: reported }, podState([sandbox()], [exited(137)]));
    expect(later.containerStatuses).toMatchObject([{ state: { terminated: { reason: 'OOMKilled' } } }]);
    const other = statusOf({ ...object, status: reported }, podState([sandbox()], [exited(137, { id: 'other' })]));
    expect(other.containerStatuses).toMatchObject([{ state: { terminated: { reason: 'Error' } } }]);
  });

  it('has reasons for an OOM kill and for a failed start', () => {
    const oom = statusOf(pod({ restartPolicy: 'Never' }), podState([sandbox()], [exited(137, { endedBy: 'oom' })]));
    expect(oom.containerStatuses).toMatchObject([{ state: { terminated: { reason: 'OOMKilled' } } }]);
    const start = statusOf(
      pod({ restartPolicy: 'Never' }),
      podState([sandbox()], [exited(128, { error: 'no such file' })]),
    );
    expect(start.containerStatuses).toMatchObject([
      { state: { terminated: { reason: 'ContainerCannotRun', message: 'no such file', exitCode: 128 } } },
    ]);
  });

  it('waits for init containers', () => {
    const object = pod({ initContainers: [container('a')] });
    const status = statusOf(object, podState([sandbox()], [running({ name: 'a' })]));
    expect(status).toMatchObject({
      phase: 'Pending',
      initContainerStatuses: [{ name: 'a', state: { running: {} } }],
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    });
    const initialized = status.conditions?.find(({ type }) => type === 'Initialized');
    expect(initialized).toMatchObject({ status: 'False', message: 'containers with incomplete status: [a]' });
  });

  it('is not ready before its readiness probe has passed', () => {
    const object = pod({ containers: [container('main', { readinessProbe: { httpGet: { port: 80 } } })] });
    const state = podState([sandbox()], [running()]);
    expect(conditions(statusOf(object, state))['Ready']).toBe('False ContainersNotReady');
    const probes = new Map([['main', { containerId: 'main-0', started: true, ready: true }]]);
    expect(conditions(statusOf(object, state, { ...MOUNTED, probes }))['Ready']).toBe('True');
  });

  it('keeps conditions of other owners, and the time of unchanged conditions', () => {
    const object = pod(
      { readinessGates: [{ conditionType: 'example.com/gate' }] },
      {
        conditions: [
          { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
          { type: 'example.com/gate', status: 'True' },
        ],
      },
    );
    const status = statusOf(object, podState([sandbox()], [running()]));
    expect(status.conditions).toContainEqual({ type: 'example.com/gate', status: 'True' });
    expect(status.conditions).toContainEqual({
      type: 'PodScheduled',
      status: 'True',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(conditions(status)['Ready']).toBe('True');
  });

  it('is not ready before each of its readiness gates is, and says which are not', () => {
    const readinessGates = [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }];
    const object = pod({ readinessGates }, { conditions: [{ type: 'example.com/b', status: 'False' }] });
    const status = statusOf(object, podState([sandbox()], [running()]));
    expect(status.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message:
        'corresponding condition of pod readiness gate "example.com/a" does not exist., the status of pod readiness gate "example.com/b" is not "True", but False',
    });
    expect(conditions(status)['ContainersReady']).toBe('True');
  });

  it('reports ContainerStatusUnknown for a container that was removed', () => {
    const old = reportedStatus({ containerID: 'docker://lost', state: { running: {} } });
    const status = statusOf(pod({}, { containerStatuses: [old] }), podState([sandbox()], []));
    expect(status.containerStatuses).toMatchObject([
      { lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } },
    ]);
  });

  it('fails a pod that has been active for too long, once none of its containers runs any more', () => {
    const object = pod({ activeDeadlineSeconds: 60 }, { startTime: '2026-01-01T00:09:00Z', phase: 'Running' });
    const stopping = statusOf(object, podState([sandbox()], [running()]));
    expect(stopping.phase).toBe('Running');
    expect(stopping).not.toHaveProperty('reason');
    expect(statusOf(object, podState([sandbox()], [exited(137)]))).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
    });
  });
});
