import type { Container, ContainerStatus, Pod, PodStatus } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { ContainerState } from '../runtime/containers.ts';
import { podStatus } from '../status/pod-status.ts';
import { container, exited, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { emptyMemory, type PodMemory } from './pod-memory.ts';
import { computePodActions } from './plan.ts';
import { restartDelays, restartedIds } from './restarted-containers.ts';

const RULES = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
const asks = (name: string): Container => container(name, { restartPolicy: 'Never', restartPolicyRules: RULES });
const TWO = pod({ restartPolicy: 'Never', containers: [asks('source'), container('other')] });
const SOURCE = exited(42, { id: 'source-0', name: 'source' });
const RESTARTING = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
};

const memoryOf = (object: Pod, containers: readonly ContainerState[], change: Partial<PodMemory> = {}): PodMemory => {
  const restarted = restartedIds(object, containers, change.restartedIds ?? new Set());
  return { ...emptyMemory, volumes: 'ready', ...change, restartedIds: restarted };
};
const planOf = (object: Pod, containers: readonly ContainerState[], change: Partial<PodMemory> = {}) =>
  computePodActions(object, podState([sandbox()], containers), memoryOf(object, containers, change), NOW);
const actionsOf = (...args: Parameters<typeof planOf>) =>
  planOf(...args).actions.map((action) => {
    if (action.kind === 'startContainer') return `start ${action.container.name} ${action.attempt}`;
    return `${action.kind} ${'id' in action ? action.id : ''}`;
  });
const statusOf = (object: Pod, containers: readonly ContainerState[], change: Partial<PodMemory> = {}): PodStatus => {
  const memory = memoryOf(object, containers, change);
  const state = podState([sandbox()], containers);
  const plan = computePodActions(object, state, memory, NOW);
  const node = { nodeAddress: '10.0.0.1', recursiveReadOnly: 'supported', messages: new Map() } as const;
  return podStatus({ pod: object, state, memory, plan, ...node }, NOW);
};
const conditionOf = ({ conditions = [] }: PodStatus) =>
  conditions.find(({ type }) => type === 'AllContainersRestarting');
const reported = (name: string, state: ContainerStatus['state'], change: Partial<ContainerStatus> = {}) =>
  reportedStatus({ name, state, containerID: `docker://${name}-0`, ...change });
const TERMINATED = (exitCode: number) => ({ terminated: { exitCode, reason: 'Error' } });

describe('an exit that restarts all containers', () => {
  it('kills what runs at once and without its hooks, and removes the container that has exited last', () => {
    const preStop = { exec: { command: ['x'] } };
    const hooked = pod({
      containers: [asks('source'), container('other', { lifecycle: { preStop } }), container('third')],
    });
    const other = running({ id: 'other-0', name: 'other' });
    const third = exited(0, { id: 'third-0', name: 'third' });
    expect(planOf(hooked, [SOURCE, other, third]).actions).toEqual([
      {
        kind: 'stopContainer',
        id: 'other-0',
        name: 'other',
        graceSeconds: 0,
        signalled: 'after-hook',
        reason: 'Killing',
        message: 'killing',
      },
    ]);
    const killed = exited(137, { id: 'other-0', name: 'other' });
    expect(actionsOf(hooked, [SOURCE, killed, third])).toEqual(['removeContainer other-0', 'removeContainer third-0']);
    expect(actionsOf(hooked, [SOURCE])).toEqual(['removeContainer source-0']);
  });

  it('may be that of a sidecar, which is no restart of it alone', () => {
    const source = container('source', { restartPolicy: 'Always', restartPolicyRules: RULES });
    const withSidecar = pod({ restartPolicy: 'Never', initContainers: [source], containers: [container('other')] });
    const other = running({ id: 'other-0', name: 'other' });
    expect(actionsOf(withSidecar, [SOURCE, other])).toEqual(['stopContainer other-0']);
    expect(actionsOf(withSidecar, [exited(1, { id: 'source-0', name: 'source' }), other])).toEqual(['start source 1']);
  });

  it('shortens the grace of what is being stopped, once', () => {
    const other = running({ id: 'other-0', name: 'other' });
    const stopping = (killAt: number) => ({ stopping: new Map([['other-0', { phase: 'signal' as const, killAt }]]) });
    expect(actionsOf(TWO, [SOURCE, other], stopping(NOW + 1000))).toEqual(['stopContainer other-0']);
    expect(actionsOf(TWO, [SOURCE, other], stopping(NOW))).toEqual([]);
  });

  it('leaves ephemeral containers and exits by other rules alone', () => {
    const withLook: Pod = { ...TWO, spec: { containers: [], ...TWO.spec, ephemeralContainers: [{ name: 'look' }] } };
    const look = running({ id: 'look-0', name: 'look' });
    expect(actionsOf(withLook, [SOURCE, look])).toEqual(['removeContainer source-0']);
    const other = running({ id: 'other-0', name: 'other' });
    expect(actionsOf(TWO, [exited(1, { name: 'source' }), other])).toEqual([]);
  });

  it('starts all again, from the init containers on, also those whose work was done', () => {
    const statuses = {
      initContainerStatuses: [reported('init', TERMINATED(0))],
      containerStatuses: [reported('source', TERMINATED(42)), reported('done', TERMINATED(0), { restartCount: 2 })],
    };
    const spec = {
      restartPolicy: 'Never',
      initContainers: [container('init')],
      containers: [asks('source'), container('done')],
    };
    const before = pod(spec, statuses);
    const done = exited(0, { id: 'done-0', name: 'done', attempt: 2 });
    const init = exited(0, { id: 'init-0', name: 'init' });
    const { restartedIds: ids } = memoryOf(before, [SOURCE, done, init]);
    expect(actionsOf(before, [], { restartedIds: ids })).toEqual(['start init 1']);
    const again = exited(0, { id: 'init-1', name: 'init', attempt: 1 });
    expect(actionsOf(before, [again], { restartedIds: ids })).toEqual(['start source 1', 'start done 3']);
    // An agent that starts meanwhile sees the condition, or the statuses that follow it.
    const conditions = [{ type: 'AllContainersRestarting', status: 'True' }];
    expect(actionsOf(pod(spec, { ...statuses, conditions }), [again])).toEqual(['start source 1', 'start done 3']);
    const status = statusOf(before, [again], { restartedIds: ids });
    expect(actionsOf(pod(spec, status), [again])).toEqual(['start source 1', 'start done 3']);
    expect(actionsOf(before, [again])).toEqual(['start source 1']);
  });

  it('shows that all are restarting, and the pod as running', () => {
    const was = { ...TWO, status: { containerStatuses: [reported('other', { running: {} })] } };
    const killed = exited(137, { id: 'other-0', name: 'other' });
    const killing = statusOf(was, [SOURCE, killed]);
    expect(conditionOf(killing)).toMatchObject({
      status: 'True',
      reason: 'RestartAllContainersStarted',
      message: 'container exited with restart policy rule',
    });
    expect(killing.phase).toBe('Running');
    expect(conditionOf(statusOf(TWO, [running({ name: 'source' })]))).toMatchObject({ status: 'False' });
    expect(conditionOf(statusOf(pod(), [running()]))).toBeUndefined();
    const ended = pod({ ...TWO.spec }, { phase: 'Succeeded' });
    expect(conditionOf(statusOf(ended, []))).toMatchObject({ status: 'False', reason: 'PodCompleted' });
  });

  it('shows what was removed as waiting and counts it once, whatever the API shows by then', () => {
    const ids = new Set(['other-0', 'source-0']);
    const last = { terminated: { exitCode: 137, ...RESTARTING } };
    const containerStatuses = [
      reported('source', TERMINATED(42)),
      reported('other', { running: {} }, { restartCount: 3 }),
    ];
    const before: Pod = { ...TWO, status: { containerStatuses } };
    const removed = statusOf(before, [], { restartedIds: ids });
    const shown = [
      { name: 'source', state: { waiting: RESTARTING }, lastState: last, restartCount: 1 },
      { name: 'other', state: { waiting: RESTARTING }, lastState: last, restartCount: 4 },
    ];
    expect(removed.containerStatuses).toMatchObject(shown);
    expect([removed.phase, conditionOf(removed)?.status]).toEqual(['Running', 'False']);
    expect(statusOf({ ...TWO, status: removed }, [], { restartedIds: ids }).containerStatuses).toMatchObject(shown);
    const next = running({ id: 'other-4', name: 'other', attempt: 4 });
    for (const status of [before.status, removed])
      expect(
        statusOf({ ...TWO, ...(status === undefined ? {} : { status }) }, [next], { restartedIds: ids })
          .containerStatuses?.[1],
      ).toMatchObject({
        state: { running: {} },
        lastState: last,
        restartCount: 4,
      });
  });

  it('does not fail the pod for an init container that is killed, and leaves it initialized', () => {
    const spec = { restartPolicy: 'Never', initContainers: [asks('first'), container('init')] };
    const first = exited(42, { id: 'first-0', name: 'first' });
    const init = exited(137, { id: 'init-0', name: 'init' });
    expect(statusOf(pod(spec), [first, init]).phase).toBe('Pending');
    const conditions = [{ type: 'Initialized', status: 'True' }];
    const { conditions: shown } = statusOf(pod(spec, { conditions }), [first, init]);
    expect(shown).toContainEqual(expect.objectContaining({ type: 'Initialized', status: 'True' }));
  });

  it('waits for the delay of the container that has exited, though all others are gone at once', () => {
    const source = { ...SOURCE, finishedAt: NOW - 4_000, restartDelayMs: 10_000 };
    const other = exited(137, { id: 'other-0', name: 'other' });
    expect(actionsOf(TWO, [source, other])).toEqual(['removeContainer other-0']);
    const { actions, requeueAt, waiting } = planOf(TWO, [source]);
    expect([actions, requeueAt]).toEqual([[], NOW + 6_000]);
    expect(waiting.get('source')).toMatchObject({
      reason: 'CrashLoopBackOff',
      message: expect.stringContaining('back-off 10s restarting failed container=source'),
    });
    expect(actionsOf(TWO, [{ ...source, finishedAt: NOW - 10_000 }])).toEqual(['removeContainer source-0']);
    expect(actionsOf(TWO, [source], { maxRestartDelayMs: 4_000 })).toEqual(['removeContainer source-0']);
  });

  it('shows to an agent that is started meanwhile what is gone already', () => {
    const conditions = [{ type: 'AllContainersRestarting', status: 'True' }];
    const containerStatuses = [reported('source', TERMINATED(42)), reported('other', TERMINATED(137))];
    const found = pod({ ...TWO.spec }, { conditions, containerStatuses });
    const source = { ...SOURCE, finishedAt: NOW, restartDelayMs: 10_000 };
    const [, other] = statusOf(found, [source]).containerStatuses ?? [];
    expect(other).toMatchObject({ state: { waiting: RESTARTING }, restartCount: 1 });
  });

  it('makes the next delay longer, also when two containers take turns', () => {
    const source = { ...SOURCE, restartDelayMs: 10_000 };
    const other = running({ id: 'other-0', name: 'other', restartDelayMs: 20_000 });
    const older = exited(1, { id: 'other-before', name: 'other', restartDelayMs: 10_000 });
    const delays = restartDelays(TWO, [source, other, older], new Map(), 300_000);
    expect(delays).toEqual(new Map(Object.entries({ source: 20_000, other: 20_000 })));
    expect(restartDelays(TWO, [source], delays, 300_000)).toEqual(delays);
    expect(restartDelays(TWO, [], delays, 300_000)).toBe(delays);
    const statuses = [reported('source', TERMINATED(42)), reported('other', TERMINATED(137))];
    const ids = new Set(['source-0', 'other-0']);
    const object = pod({ ...TWO.spec }, { containerStatuses: statuses });
    const { actions } = planOf(object, [], { restartedIds: ids, restartDelays: delays });
    expect(actions).toMatchObject([
      { kind: 'startContainer', restartDelayMs: 20_000 },
      { kind: 'startContainer', restartDelayMs: 20_000 },
    ]);
  });

  it('of a later restart forgets the ids of the one before', () => {
    const other = running({ id: 'other-1', name: 'other' });
    const source = exited(42, { id: 'source-1', name: 'source' });
    expect(restartedIds(TWO, [source, other], new Set(['source-0', 'other-0']))).toEqual(
      new Set(['source-1', 'other-1']),
    );
    expect(restartedIds(TWO, [source], new Set(['source-1', 'other-1']))).toEqual(new Set(['source-1', 'other-1']));
  });
});
