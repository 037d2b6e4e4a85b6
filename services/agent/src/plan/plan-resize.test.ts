import type { Container, ContainerStatus, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { resourceLimits } from '../spec/resources.ts';
import { judgeResize } from '../spec/resize.ts';
import { podStatus } from '../status/pod-status.ts';
import { container, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { emptyMemory, type PodMemory } from './pod-memory.ts';
import { computePodActions } from './plan.ts';

const MOUNTED: PodMemory = { ...emptyMemory, volumes: 'ready' };
const sizes = (cpu: string, memory: string): Container['resources'] => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const SMALL = sizes('100m', '64Mi');
const LARGE = sizes('200m', '128Mi');
const sized = (resources: Container['resources'], change: Partial<Container> = {}) =>
  container('main', { resources, ...change });
const STATE = podState([sandbox()], [running({ resources: resourceLimits(pod(), sized(SMALL)) })]);
const granted: Partial<ContainerStatus> = {
  containerID: 'docker://main-0',
  allocatedResources: SMALL?.requests,
  resources: SMALL,
};
const resizing = (change: Partial<Container> = {}, other: Partial<Pod['metadata']> = {}): Pod =>
  pod({ containers: [sized(LARGE, change)] }, { containerStatuses: [reportedStatus(granted)] }, other);

const actions = (object: Pod, memory = MOUNTED) => computePodActions(object, STATE, memory, NOW);
const statusOf = (object: Pod, memory = MOUNTED, state = STATE) => {
  const plan = computePodActions(object, state, memory, NOW);
  const node = { nodeAddress: '10.0.0.1', recursiveReadOnly: 'supported' } as const;
  return podStatus({ pod: object, state, memory, plan, ...node, messages: new Map() }, NOW);
};
const resizeOf = (object: Pod, memory = MOUNTED, state = STATE) =>
  (statusOf(object, memory, state).conditions ?? []).filter(({ type }) => type.startsWith('PodResize'));

describe('a resize of a running container', () => {
  it('changes what the engine holds it to, without a restart', () => {
    expect(actions(resizing()).actions).toEqual([
      { kind: 'updateContainer', id: 'main-0', name: 'main', resources: resourceLimits(pod(), sized(LARGE)) },
    ]);
    expect(actions(pod({ containers: [sized(SMALL)] })).actions).toEqual([]);
  });

  it('changes what a running init container is held to, and shows it', () => {
    const init = container('init', { resources: LARGE });
    const object = pod({ initContainers: [init], containers: [sized(SMALL)] });
    const before = resourceLimits(pod(), container('init', { resources: SMALL }));
    const state = podState([sandbox()], [running({ name: 'init', id: 'init-0', resources: before })]);
    expect(computePodActions(object, state, MOUNTED, NOW).actions).toEqual([
      { kind: 'updateContainer', id: 'init-0', name: 'init', resources: resourceLimits(pod(), init) },
    ]);
    const after = podState(
      [sandbox()],
      [running({ name: 'init', id: 'init-0', resources: resourceLimits(pod(), init) })],
    );
    const [shown] = statusOf(object, MOUNTED, after).initContainerStatuses ?? [];
    expect(shown).toMatchObject({ resources: LARGE, allocatedResources: LARGE?.requests });
    expect(resizeOf(object, MOUNTED, after)).toEqual([]);
  });

  it.each([
    { resource: 'memory', resources: sizes('100m', '128Mi'), restarts: true },
    { resource: 'memory', resources: sizes('200m', '64Mi'), restarts: false },
    { resource: 'cpu', resources: sizes('200m', '64Mi'), restarts: true },
  ])('restarts it where its policy for $resource says so', ({ resource, resources, restarts }) => {
    const resizePolicy = [{ resourceName: resource, restartPolicy: 'RestartContainer' }];
    const { actions: planned } = actions(pod({ containers: [sized(resources, { resizePolicy })] }));
    expect(planned.map(({ kind }) => kind)).toEqual([restarts ? 'stopContainer' : 'updateContainer']);
    if (restarts) expect(planned).toMatchObject([{ message: 'Container main resize requires restart' }]);
  });

  it.each([
    { asked: '96Mi', policy: 'RestartContainer', planned: ['stopContainer'], shown: '64Mi' },
    { asked: '65536Ki', policy: 'RestartContainer', planned: [], shown: '65536Ki' },
    { asked: '96Mi', policy: 'NotRequired', planned: [], shown: '96Mi' },
  ])(
    'for a memory request of $asked, which the engine does not know, plans $planned with the policy $policy',
    ({ asked, policy, planned, shown }) => {
      const sizesOf = (memory: string) => ({
        requests: { cpu: '100m', memory },
        limits: { cpu: '100m', memory: '128Mi' },
      });
      const resizePolicy = [{ resourceName: 'memory', restartPolicy: policy }];
      const wanted = sized(sizesOf(asked), { resizePolicy });
      const reported = { ...granted, resources: sizesOf('64Mi'), allocatedResources: sizesOf('64Mi').requests };
      const object = pod({ containers: [wanted] }, { containerStatuses: [reportedStatus(reported)] });
      const before = podState([sandbox()], [running({ resources: resourceLimits(pod(), wanted) })]);
      expect(computePodActions(object, before, MOUNTED, NOW).actions.map(({ kind }) => kind)).toEqual(planned);
      expect(statusOf(object, MOUNTED, before).containerStatuses?.[0]).toMatchObject({
        allocatedResources: { memory: asked },
        resources: { requests: { memory: shown } },
      });
      expect(resizeOf(object, MOUNTED, before)).toHaveLength(planned.length);
      const after = podState(
        [sandbox()],
        [running({ id: 'main-1', attempt: 1, resources: resourceLimits(pod(), wanted) })],
      );
      expect(computePodActions(object, after, MOUNTED, NOW).actions).toEqual([]);
      expect(statusOf(object, MOUNTED, after).containerStatuses?.[0]).toMatchObject({ resources: sizesOf(asked) });
    },
  );

  it.each([
    { name: 'a first memory request', resources: { requests: { cpu: '100m' } }, restarts: true },
    { name: 'a memory request after none at all', resources: {}, restarts: true },
    { name: 'a memory request of which nothing was reported', resources: undefined, restarts: false },
  ])('restarts it for $name: $restarts', ({ resources, restarts }) => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const wanted = sized({ requests: { cpu: '100m', memory: '64Mi' } }, { resizePolicy });
    const { resources: _, ...others } = granted;
    const reported = reportedStatus({ ...others, ...(resources === undefined ? {} : { resources }) });
    const state = podState([sandbox()], [running({ resources: resourceLimits(pod(), wanted) })]);
    const { actions } = computePodActions(
      pod({ containers: [wanted] }, { containerStatuses: [reported] }),
      state,
      MOUNTED,
      NOW,
    );
    expect(actions.map(({ kind }) => kind)).toEqual(restarts ? ['stopContainer'] : []);
  });

  it('is not asked for again at once when the engine has taken or refused it', () => {
    const last = { containerId: 'main-0', resources: resourceLimits(pod(), sized(LARGE)), retryAt: NOW + 4_000 };
    const plan = actions(resizing(), { ...MOUNTED, updates: new Map([['main', last]]) });
    expect([plan.actions, plan.requeueAt]).toEqual([[], NOW + 4_000]);
    const other = { ...last, resources: {} };
    expect(actions(resizing(), { ...MOUNTED, updates: new Map([['main', other]]) }).actions.length).toBe(1);
  });

  it('shows what was granted, what is in force, and that it is under way', () => {
    const [status] = statusOf(resizing()).containerStatuses ?? [];
    expect(status).toMatchObject({ allocatedResources: LARGE?.requests, resources: SMALL });
    expect(statusOf(resizing())).toMatchObject({ allocatedResources: LARGE?.requests, resources: LARGE });
    expect(resizeOf(resizing())).toMatchObject([{ type: 'PodResizeInProgress', status: 'True' }]);
    const done = podState([sandbox()], [running({ resources: resourceLimits(pod(), sized(LARGE)) })]);
    expect(resizeOf(resizing(), MOUNTED, done)).toEqual([]);
    expect(statusOf(resizing(), MOUNTED, done).containerStatuses).toMatchObject([{ resources: LARGE }]);
  });

  it('says why the engine refused it', () => {
    const failure = { reason: 'CreateContainerError', message: 'too little', failures: 1, failedAt: NOW, retryAt: NOW };
    const last = { containerId: 'main-0', resources: {}, retryAt: NOW, failure };
    const updates = new Map([['main', last]]);
    expect(resizeOf(resizing(), { ...MOUNTED, updates })).toMatchObject([{ reason: 'Error', message: 'too little' }]);
  });
});

describe('a resize for which the node has no room', () => {
  const share = () => ({ cpuMillis: 250, memoryBytes: 2 ** 30, storageBytes: 0 });
  const other = pod({ containers: [sized(SMALL)] }, {}, { uid: 'uid-2' });

  it('is deferred until other pods have ended', () => {
    const message = "Node didn't have enough resource: cpu, requested: 200, used: 100, capacity: 250";
    const verdict = { kind: 'deferred', reason: 'OutOfcpu', message };
    expect(judgeResize(resizing(), [resizing(), other], share)).toEqual(verdict);
    expect(judgeResize(resizing(), [resizing()], share)).toEqual({ kind: 'fits' });
    const ended = pod({ containers: [sized(SMALL)] }, { phase: 'Succeeded' }, { uid: 'uid-2' });
    expect(judgeResize(resizing(), [resizing(), ended], share)).toEqual({ kind: 'fits' });
  });

  it('needs room for its overhead and for that of the others', () => {
    const withOverhead = (object: Pod, cpu: string): Pod => ({
      ...object,
      spec: { containers: [], ...object.spec, overhead: { cpu } },
    });
    const asked = (own: string, others: string) =>
      judgeResize(withOverhead(resizing(), own), [withOverhead(other, others)], () => ({ ...share(), cpuMillis: 320 }));
    expect(asked('10m', '10m')).toEqual({ kind: 'fits' });
    const message = "Node didn't have enough resource: cpu, requested: 215, used: 110, capacity: 320";
    expect(asked('15m', '10m')).toMatchObject({ kind: 'deferred', message });
  });

  describe('of a pod that gets pod-level resources only now', () => {
    const asking = (cpu: string, status: Pod['status'] = {}) =>
      pod(
        { containers: [sized(SMALL)], resources: { requests: { cpu } } },
        { containerStatuses: [reportedStatus(granted)], ...status },
      );

    it('is judged by what its containers have', () => {
      const message = "Node didn't have enough resource: cpu, requested: 200, used: 100, capacity: 250";
      expect(judgeResize(asking('200m'), [other], share)).toMatchObject({ kind: 'deferred', message });
      expect(judgeResize(asking('150m'), [other], share)).toEqual({ kind: 'fits' });
      const memory: PodMemory = { ...MOUNTED, resize: { kind: 'deferred', reason: 'OutOfcpu', message } };
      expect(statusOf(asking('200m'), memory).resources).toEqual(SMALL);
      expect(statusOf(asking('150m')).resources).toEqual({ requests: { cpu: '150m' } });
    });

    it('is none of one that was created with it', () => {
      const created = pod({ containers: [sized(SMALL)], resources: { requests: { cpu: '900m' } } });
      expect(judgeResize(created, [other], share)).toEqual({ kind: 'fits' });
      const reported = asking('900m', { resources: { requests: { cpu: '900m' } } });
      expect(judgeResize(reported, [other], share)).toEqual({ kind: 'fits' });
    });

    it('keeps no room from others when it is infeasible', () => {
      const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }];
      const first = { ...asking('150m', { conditions }), metadata: { ...other.metadata, uid: 'uid-2' } };
      const ahead = { ...first, spec: { containers: [], ...first.spec, priority: 9 } };
      expect(judgeResize(asking('150m'), [ahead], share)).toEqual({ kind: 'fits' });
      const waits = { ...ahead, status: { containerStatuses: [reportedStatus(granted)] } };
      expect(judgeResize(asking('150m'), [waits], share)).toMatchObject({ kind: 'deferred' });
    });
  });

  it('changes nothing, is judged again, and shows as pending', () => {
    const memory: PodMemory = { ...MOUNTED, resize: { kind: 'deferred', reason: 'OutOfcpu', message: 'no room' } };
    const plan = actions(resizing(), memory);
    expect([plan.actions, plan.requeueAt]).toEqual([[], NOW + 10_000]);
    expect(resizeOf(resizing(), memory)).toMatchObject([
      { type: 'PodResizePending', status: 'True', reason: 'Deferred', message: 'no room' },
    ]);
    expect(statusOf(resizing(), memory)).toMatchObject({
      ...{ allocatedResources: SMALL?.requests, resources: SMALL, containerStatuses: [granted] },
    });
  });

  it('does not hold back less than was granted, nor a pod that asks for nothing new', () => {
    const tight = () => ({ cpuMillis: 10, memoryBytes: 1, storageBytes: 0 });
    const less = pod({ containers: [sized(sizes('50m', '32Mi'))] }, { containerStatuses: [reportedStatus(granted)] });
    expect(judgeResize(less, [other], tight)).toEqual({ kind: 'fits' });
    expect(judgeResize(pod({ containers: [sized(LARGE)] }), [other], tight)).toEqual({ kind: 'fits' });
  });

  it('waits for pods before it in their turn: those that ask for no more, of higher priority, Guaranteed, or earlier', () => {
    const granted = { cpu: '100m', memory: '64Mi' };
    const of = (uid: string, cpu: string, spec: Partial<Pod['spec']> = {}, status: Partial<Pod['status']> = {}): Pod =>
      pod(
        { containers: [sized(sizes(cpu, '64Mi'))], ...spec },
        { containerStatuses: [reportedStatus({ allocatedResources: granted })], ...status },
        { uid },
      );
    const room = () => ({ cpuMillis: 400, memoryBytes: 2 ** 30, storageBytes: 1 });
    const kind = (one: Pod, other: Pod) => judgeResize(one, [one, other], room).kind;
    const since = (lastTransitionTime: string) => ({
      conditions: [{ type: 'PodResizePending', status: 'True', lastTransitionTime }],
    });
    const early = since('2026-01-01T00:00:00Z');
    const late = since('2026-01-01T00:00:05Z');
    const before: readonly (readonly [Pod, Pod])[] = [
      [of('a', '250m', { priority: 5 }), of('b', '250m', { priority: 1 })],
      [of('a', '250m', {}, { qosClass: 'Guaranteed' }), of('b', '250m', {}, { qosClass: 'Burstable' })],
      [of('a', '250m', {}, early), of('b', '250m', {}, late)],
    ];
    for (const [first, second] of before) {
      expect([kind(first, second), kind(second, first)]).toEqual(['fits', 'deferred']);
    }
    expect(kind(of('b', '350m'), of('a', '50m', { priority: 9 }))).toBe('fits');
    // A pod that finds no room itself does not keep room from the others.
    expect(kind(of('b', '250m'), of('a', '900m', { priority: 9 }))).toBe('fits');
  });
});
