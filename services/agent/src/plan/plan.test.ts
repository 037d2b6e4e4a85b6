import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import { container, exited, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { emptyMemory, type PodMemory, type Stopping } from './pod-memory.ts';
import { computePodActions } from './plan.ts';
import { type PodAction } from './pod-plan.ts';

const MOUNTED: PodMemory = { ...emptyMemory, volumes: 'ready' };

/** Formats an action as one line: its kind and its target. */
function brief(action: PodAction): string {
  switch (action.kind) {
    case 'startContainer':
      return [
        `start ${action.container.name} ${action.attempt} after ${action.restartDelayMs}`,
        ...(action.preparedId === undefined ? [] : [`as ${action.preparedId}`]),
      ].join(' ');
    case 'stopContainer':
      return [
        `stop ${action.id} in ${action.graceSeconds}`,
        ...(action.preStop === undefined ? [] : ['after its hook']),
        ...(action.signalled === 'in-its-turn' ? ['in its turn'] : []),
      ].join(' ');
    case 'updateContainer':
      return `update ${action.id} to ${JSON.stringify(action.resources)}`;
    case 'updatePodGroup':
      return `update the pod to ${JSON.stringify(action.resources)}`;
    case 'signalContainer':
      return `signal ${action.id} in ${action.graceSeconds}`;
    case 'createSandbox':
      return [
        `createSandbox ${action.attempt}`,
        ...(action.volumes === 'to-mount' ? ['beside its volumes'] : []),
        ...action.first.map((next) => `with ${next.container.name} ${next.attempt}`),
      ].join(' ');
    case 'unpause':
    case 'stopSandbox':
    case 'removeContainer':
    case 'removeSandbox':
      return `${action.kind} ${action.id}`;
    case 'mountVolumes':
    case 'release':
      return action.kind;
  }
}

interface Case {
  readonly name: string;
  readonly pod: Pod | undefined;
  readonly state?: PodState;
  readonly memory?: PodMemory;
  readonly actions: readonly string[];
  readonly requeueInMs?: number;
  readonly waiting?: Readonly<Record<string, string>>;
}

const deleted = { deletionTimestamp: '2026-01-01T00:10:05Z', deletionGracePeriodSeconds: 5 };
const backOff = (reason: string, failedMsAgo: number, retryInMs: number) => ({
  reason,
  message: 'why',
  failures: 1,
  failedAt: NOW - failedMsAgo,
  retryAt: NOW + retryInMs,
});

const stopping = (id: string, phase: Stopping['phase'], killInMs: number): PodMemory['stopping'] =>
  new Map([[id, { phase, killAt: NOW + killInMs }]]);
const sidecars = ['one', 'two'].map((name) => container(name, { restartPolicy: 'Always' }));
const all = ['main', 'one', 'two'].map((name) => running({ name }));
const withProbe = (change: Partial<Container>) => pod({ containers: [container('main', change)] });
const failing = (failed: 'liveness' | 'startup'): PodMemory => ({
  ...MOUNTED,
  probes: new Map([['main', { containerId: 'main-0', started: true, ready: false, failed }]]),
});
const hook = { sleep: { seconds: 3 } };

const cutOff: PodMemory = { ...MOUNTED, instances: 'at-most-one', link: 'cut-off' };

const cases: readonly Case[] = [
  {
    name: 'stops a pod that runs at most once while its node is cut off, with its hook and grace period',
    pod: pod({ containers: [container('main', { lifecycle: { preStop: hook } })], terminationGracePeriodSeconds: 7 }),
    state: podState([sandbox()], [running()]),
    memory: cutOff,
    actions: ['stop main-0 in 7 after its hook'],
  },
  {
    name: 'starts nothing of a pod that runs at most once while its node is cut off',
    pod: pod(),
    state: podState([sandbox()], [exited(0)]),
    memory: cutOff,
    actions: [],
  },
  {
    name: 'leaves other pods of a node that is cut off alone',
    pod: pod(),
    state: podState([sandbox()], [running()]),
    memory: { ...cutOff, instances: 'any' },
    actions: [],
  },
  {
    name: 'stops a pod that runs at most once of a node that is cut off before it could read its objects, and removes nothing',
    pod: undefined,
    state: podState([sandbox()], [running()]),
    memory: cutOff,
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'removes nothing of a pod of a node that is cut off before it could read its objects',
    pod: undefined,
    state: podState([sandbox()], [exited(0)]),
    memory: cutOff,
    actions: [],
  },
  {
    name: 'ends a deleted pod of a node that is cut off',
    pod: pod({}, {}, deleted),
    state: podState([sandbox()], [exited(0)]),
    memory: cutOff,
    actions: ['removeContainer main-0', 'removeSandbox sandbox-0'],
  },
  {
    name: 'gives a new pod its volumes, its sandbox and the containers that come first at once',
    pod: pod({ containers: [container('main'), container('other')] }),
    memory: emptyMemory,
    actions: ['createSandbox 0 beside its volumes with main 0 with other 0'],
  },
  {
    name: 'creates only the first init container of a new pod beside its sandbox',
    pod: pod({ initContainers: [container('first'), container('second')] }),
    memory: emptyMemory,
    actions: ['createSandbox 0 beside its volumes with first 0'],
  },
  {
    name: 'mounts volumes that failed before it creates the sandbox',
    pod: pod(),
    memory: { ...emptyMemory, volumes: backOff('FailedMount', 1000, -1) },
    actions: ['mountVolumes'],
  },
  {
    name: 'mounts the volumes of a pod that had a sandbox first',
    pod: pod(),
    state: podState([sandbox({ state: 'exited' })], []),
    memory: emptyMemory,
    actions: ['mountVolumes'],
  },
  {
    name: 'starts a container that was created beside its sandbox',
    pod: pod(),
    state: podState([sandbox()], [running({ state: 'created' })]),
    memory: { ...MOUNTED, prepared: new Map([['main', { id: 'main-0' }]]) },
    actions: ['start main 0 after 0 as main-0'],
  },
  {
    name: 'removes a container that was created beside another sandbox',
    pod: pod(),
    state: podState([sandbox()], [running({ state: 'created', sandboxId: 'sandbox-9' })]),
    memory: { ...MOUNTED, prepared: new Map([['main', { id: 'main-0' }]]) },
    actions: ['removeContainer main-0'],
  },
  {
    name: 'removes a container that was created of another definition',
    pod: pod(),
    state: podState([sandbox()], [running({ state: 'created', hash: 'other' })]),
    memory: { ...MOUNTED, prepared: new Map([['main', { id: 'main-0' }]]) },
    actions: ['removeContainer main-0'],
  },
  {
    name: 'waits before it mounts again',
    pod: pod(),
    memory: { ...emptyMemory, volumes: backOff('FailedMount', 0, 500) },
    actions: [],
    requeueInMs: 500,
  },
  { name: 'creates the sandbox when the volumes are mounted', pod: pod(), actions: ['createSandbox 0 with main 0'] },
  {
    name: 'waits before it tries the sandbox again',
    pod: pod(),
    memory: { ...MOUNTED, sandbox: backOff('CreateContainerError', 0, 700) },
    actions: [],
    requeueInMs: 700,
  },
  {
    name: 'starts containers in a running sandbox',
    pod: pod(),
    state: podState([sandbox()], []),
    actions: ['start main 0 after 0'],
  },
  { name: 'has nothing to do for a running pod', pod: pod(), state: podState([sandbox()], [running()]), actions: [] },
  {
    name: 'restarts a container that died once at once',
    pod: pod(),
    state: podState([sandbox()], [exited(137)]),
    actions: ['start main 1 after 10000'],
  },
  {
    name: 'delays the restart of a container that died again',
    pod: pod(),
    state: podState([sandbox()], [exited(1, { attempt: 3, restartDelayMs: 20_000 })]),
    actions: [],
    requeueInMs: 19_000,
    waiting: { main: 'CrashLoopBackOff' },
  },
  {
    name: 'doubles the delay after each restart',
    pod: pod(),
    state: podState([sandbox()], [exited(1, { attempt: 3, restartDelayMs: 20_000, finishedAt: NOW - 20_000 })]),
    actions: ['start main 4 after 40000'],
  },
  {
    name: 'forgets the delay of a container that ran for ten minutes',
    pod: pod(),
    state: podState([sandbox()], [exited(1, { attempt: 3, restartDelayMs: 300_000, startedAt: NOW - 700_000 })]),
    actions: ['start main 4 after 10000'],
  },
  {
    name: 'does not wait longer than the agent or the pod allows',
    pod: pod(),
    state: podState([sandbox()], [exited(1, { attempt: 3, restartDelayMs: 80_000, startedAt: NOW - 2_000 })]),
    memory: { ...MOUNTED, maxRestartDelayMs: 2_000 },
    actions: [],
    requeueInMs: 1_000,
    waiting: { main: 'CrashLoopBackOff' },
  },
  {
    name: 'restarts at most after that delay, and notes it for the next restart',
    pod: pod(),
    state: podState(
      [sandbox()],
      [exited(1, { attempt: 3, restartDelayMs: 2_000, startedAt: NOW - 3_000, finishedAt: NOW - 2_000 })],
    ),
    memory: { ...MOUNTED, maxRestartDelayMs: 2_000 },
    actions: ['start main 4 after 2000'],
  },
  {
    name: 'restarts a container of its own policy in a pod that never restarts',
    pod: pod({ restartPolicy: 'Never', containers: [container('main', { restartPolicy: 'OnFailure' })] }),
    state: podState([sandbox()], [exited(1)]),
    actions: ['start main 1 after 10000'],
  },
  {
    name: 'does not restart what succeeded under OnFailure',
    pod: pod({ restartPolicy: 'OnFailure' }),
    state: podState([sandbox()], [exited(0)]),
    actions: [],
  },
  {
    name: 'does not restart anything under Never',
    pod: pod({ restartPolicy: 'Never' }),
    state: podState([sandbox()], [exited(1)]),
    actions: [],
  },
  {
    name: 'does not run a container again that ended by its status and is missing in the engine',
    pod: pod(
      { restartPolicy: 'Never' },
      { containerStatuses: [reportedStatus({ state: { terminated: { exitCode: 0 } } })] },
    ),
    state: podState([sandbox()], []),
    actions: [],
  },
  {
    name: 'continues the count of a container that was removed',
    pod: pod({}, { containerStatuses: [reportedStatus({ restartCount: 2, state: { running: {} } })] }),
    state: podState([sandbox()], []),
    actions: ['start main 3 after 0'],
  },
  {
    name: 'removes a container that was created but never started',
    pod: pod(),
    state: podState([sandbox()], [running({ state: 'created' })]),
    actions: ['removeContainer main-0'],
  },
  {
    name: 'stops containers whose sandbox has died',
    pod: pod(),
    state: podState([sandbox({ state: 'exited' })], [running()]),
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'replaces a sandbox that was not connected to its network',
    pod: pod(),
    state: podState([sandbox({ state: 'created', address: '' })], []),
    actions: ['removeSandbox sandbox-0', 'createSandbox 1'],
  },
  {
    name: 'creates a new sandbox when nothing runs in the dead one',
    pod: pod(),
    state: podState([sandbox({ state: 'exited' })], [exited(137)]),
    actions: ['removeSandbox sandbox-0', 'createSandbox 1'],
  },
  {
    name: 'creates no new sandbox for a pod that has ended',
    pod: pod({ restartPolicy: 'Never' }),
    state: podState([sandbox({ state: 'exited' })], [exited(0)]),
    actions: [],
  },
  {
    name: 'stops a container of another sandbox',
    pod: pod(),
    state: podState([sandbox({ id: 'sandbox-1', attempt: 1 }), sandbox({ state: 'exited' })], [running()]),
    actions: ['removeSandbox sandbox-0', 'stop main-0 in 30'],
  },
  {
    name: 'replaces a container whose image was changed',
    pod: pod({ containers: [container('main', { image: 'nginx:1.28' })] }),
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'stops a container that failed its liveness probe',
    pod: pod(),
    state: podState([sandbox()], [running()]),
    memory: {
      ...MOUNTED,
      probes: new Map([['main', { containerId: 'main-0', started: true, ready: false, failed: 'liveness' }]]),
    },
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'stops an attempt that was started beside its successor, without its hook',
    pod: withProbe({ lifecycle: { preStop: hook } }),
    state: podState([sandbox()], [running({ attempt: 1 }), running()]),
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'starts no container while an earlier attempt of it runs',
    pod: pod(),
    state: podState([sandbox()], [exited(1, { attempt: 1 }), running()]),
    memory: { ...MOUNTED, stopping: stopping('main-0', 'signal', 3_000) },
    actions: [],
  },
  {
    name: 'stops an init container that was started after the pod was initialized',
    pod: pod({ initContainers: [container('a')] }),
    state: podState([sandbox()], [running(), running({ name: 'a' })]),
    actions: ['stop a-0 in 30'],
  },
  {
    name: 'lets a paused container and a paused sandbox go on',
    pod: pod(),
    state: podState([sandbox({ activity: 'paused' })], [running({ activity: 'paused' })]),
    actions: ['unpause sandbox-0', 'unpause main-0'],
  },
  {
    name: 'lets a paused container go on also to stop it',
    pod: pod({}, {}, deleted),
    state: podState([sandbox()], [running({ activity: 'paused' })]),
    actions: ['unpause main-0', 'stop main-0 in 5'],
  },
  {
    name: 'keeps two attempts of a container',
    pod: pod(),
    state: podState([sandbox()], [running({ attempt: 2 }), exited(1, { attempt: 1 }), exited(1)]),
    actions: ['removeContainer main-0'],
  },
  {
    name: 'runs init containers one after the other',
    pod: pod({ initContainers: [container('a'), container('b')] }),
    state: podState([sandbox()], [exited(0, { name: 'a' })]),
    actions: ['start b 0 after 0'],
  },
  {
    name: 'waits for a running init container',
    pod: pod({ initContainers: [container('a')] }),
    state: podState([sandbox()], [running({ name: 'a' })]),
    actions: [],
  },
  {
    name: 'retries a failed init container unless the policy is Never',
    pod: pod({ initContainers: [container('a')], restartPolicy: 'OnFailure' }),
    state: podState([sandbox()], [exited(1, { name: 'a' })]),
    actions: ['start a 1 after 10000'],
  },
  {
    name: 'gives up after a failed init container under Never',
    pod: pod({ initContainers: [container('a')], restartPolicy: 'Never' }),
    state: podState([sandbox()], [exited(1, { name: 'a' })]),
    actions: [],
  },
  {
    name: 'runs init containers again in a new sandbox',
    pod: pod({ initContainers: [container('a')] }),
    state: podState([sandbox({ id: 'sandbox-1', attempt: 1 })], [exited(0, { name: 'a' }), exited(137)]),
    actions: ['start a 1 after 10000'],
  },
  {
    name: 'starts the main containers beside a running sidecar',
    pod: pod({ initContainers: [container('side', { restartPolicy: 'Always' })] }),
    state: podState([sandbox()], [running({ name: 'side' })]),
    actions: ['start main 0 after 0'],
  },
  {
    name: 'stops sidecars when the main containers are done',
    pod: pod({ initContainers: [container('side', { restartPolicy: 'Always' })], restartPolicy: 'Never' }),
    state: podState([sandbox()], [running({ name: 'side' }), exited(0)]),
    actions: ['stop side-0 in 30'],
  },
  {
    name: 'stops the sidecars of a pod that is done though its volumes cannot be mounted any more',
    pod: pod({ initContainers: [container('side', { restartPolicy: 'Always' })], restartPolicy: 'Never' }),
    state: podState([sandbox()], [running({ name: 'side' }), exited(0)]),
    memory: { ...emptyMemory, volumes: backOff('CreateContainerError', 500, 9_500) },
    actions: ['stop side-0 in 30'],
  },
  {
    name: 'stops a sidecar once that fails its probe when the main containers are done',
    pod: pod({ initContainers: [container('side', { restartPolicy: 'Always' })], restartPolicy: 'Never' }),
    state: podState([sandbox()], [running({ name: 'side' }), exited(0)]),
    memory: {
      ...MOUNTED,
      probes: new Map([['side', { containerId: 'side-0', ready: false, started: true, failed: 'liveness' }]]),
    },
    actions: ['stop side-0 in 30'],
  },
  {
    name: 'shows a failed pull as ErrImagePull first',
    pod: pod(),
    state: podState([sandbox()], []),
    memory: { ...MOUNTED, backOffs: new Map([['main', backOff('ErrImagePull', 500, 9_500)]]) },
    actions: [],
    requeueInMs: 1_500,
    waiting: { main: 'ErrImagePull' },
  },
  {
    name: 'shows a failed pull as ImagePullBackOff later',
    pod: pod(),
    state: podState([sandbox()], []),
    memory: { ...MOUNTED, backOffs: new Map([['main', backOff('ErrImagePull', 3_000, 7_000)]]) },
    actions: [],
    requeueInMs: 7_000,
    waiting: { main: 'ImagePullBackOff' },
  },
  {
    name: 'pulls again when the back-off is over',
    pod: pod(),
    state: podState([sandbox()], []),
    memory: { ...MOUNTED, backOffs: new Map([['main', backOff('ErrImagePull', 10_000, 0)]]) },
    actions: ['start main 0 after 0'],
    waiting: { main: 'ImagePullBackOff' },
  },
  {
    name: 'stops the containers of a deleted pod with its grace',
    pod: pod({}, {}, deleted),
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 5'],
  },
  {
    name: 'runs the hook of a container that is deleted',
    pod: pod({ containers: [container('main', { lifecycle: { preStop: hook } })] }, {}, deleted),
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 5 after its hook'],
  },
  {
    name: 'runs no hook without a grace period',
    pod: pod(
      { containers: [container('main', { lifecycle: { preStop: hook } })] },
      {},
      { ...deleted, deletionGracePeriodSeconds: 0 },
    ),
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 0'],
  },
  {
    name: 'does not run a hook again when the grace was shortened',
    pod: pod({ containers: [container('main', { lifecycle: { preStop: hook } })] }, {}, deleted),
    state: podState([sandbox()], [running()]),
    memory: { ...MOUNTED, stopping: stopping('main-0', 'hook', 30_000) },
    actions: ['stop main-0 in 5'],
  },
  {
    name: 'signals sidecars after the main containers, and the first of them last',
    pod: pod({ initContainers: sidecars }, {}, deleted),
    state: podState([sandbox()], all),
    actions: ['stop main-0 in 5', 'stop one-0 in 5 in its turn', 'stop two-0 in 5 in its turn'],
  },
  {
    name: 'lets a sidecar wait until its grace period ends',
    pod: pod({ initContainers: sidecars }, {}, deleted),
    state: podState([sandbox()], [running({ name: 'two' }), running({ name: 'one' })]),
    memory: {
      ...MOUNTED,
      stopping: new Map([...stopping('one-0', 'turn', 3_000), ...stopping('two-0', 'signal', 3_000)]),
    },
    actions: [],
    requeueInMs: 3_000,
  },
  {
    name: 'signals a sidecar whose turn has come, with what is left of the grace period',
    pod: pod({ initContainers: sidecars }, {}, deleted),
    state: podState([sandbox()], [running({ name: 'one' }), exited(0, { name: 'two' }), exited(0)]),
    memory: { ...MOUNTED, stopping: stopping('one-0', 'turn', 3_000) },
    actions: ['signal one-0 in 3'],
  },
  {
    name: 'signals a sidecar at the end of the grace period though others still run',
    pod: pod({ initContainers: sidecars }, {}, deleted),
    state: podState([sandbox()], [running({ name: 'one' }), running({ name: 'two' })]),
    memory: {
      ...MOUNTED,
      stopping: new Map([...stopping('one-0', 'turn', 0), ...stopping('two-0', 'signal', 0)]),
    },
    actions: ['signal one-0 in 0'],
  },
  {
    name: 'ends the sidecars of a pod that is done in their order',
    pod: pod({ initContainers: sidecars, restartPolicy: 'Never' }),
    state: podState([sandbox()], [running({ name: 'one' }), running({ name: 'two' }), exited(0)]),
    actions: ['stop one-0 in 30 in its turn', 'stop two-0 in 30'],
  },
  {
    name: 'gives a container that fails its liveness probe the grace period of the probe',
    pod: withProbe({ livenessProbe: { terminationGracePeriodSeconds: 4 }, lifecycle: { preStop: hook } }),
    state: podState([sandbox()], [running()]),
    memory: failing('liveness'),
    actions: ['stop main-0 in 4 after its hook'],
  },
  {
    name: 'gives a container that fails its startup probe the grace period of that probe',
    pod: withProbe({
      livenessProbe: { terminationGracePeriodSeconds: 4 },
      startupProbe: { terminationGracePeriodSeconds: 3 },
    }),
    state: podState([sandbox()], [running()]),
    memory: failing('startup'),
    actions: ['stop main-0 in 3'],
  },
  {
    name: 'stops a container whose postStart hook failed',
    pod: pod(),
    state: podState([sandbox()], [running()]),
    memory: { ...MOUNTED, failedPostStart: new Set(['main-0']) },
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'starts no container after one with a postStart hook before that has ended',
    pod: pod({ containers: [container('a'), container('b', { lifecycle: { postStart: hook } }), container('c')] }),
    state: podState([sandbox()], []),
    actions: ['start a 0 after 0', 'start b 0 after 0'],
  },
  {
    name: 'starts the containers after one that runs, hook or not',
    pod: pod({ containers: [container('b', { lifecycle: { postStart: hook } }), container('c')] }),
    state: podState([sandbox()], [running({ name: 'b' })]),
    actions: ['start c 0 after 0'],
  },
  {
    name: 'starts an ephemeral container in a pod whose init containers still run',
    pod: pod({ initContainers: [container('a')], ephemeralContainers: [container('look')] }),
    state: podState([sandbox()], [running({ name: 'a' })]),
    actions: ['start look 0 after 0'],
  },
  {
    name: 'never starts an ephemeral container again',
    pod: pod({ ephemeralContainers: [container('look')] }),
    state: podState([sandbox()], [running(), exited(1, { name: 'look' })]),
    actions: [],
  },
  {
    name: 'never starts an ephemeral container again that was removed',
    pod: pod(
      { ephemeralContainers: [container('look')] },
      { ephemeralContainerStatuses: [reportedStatus({ name: 'look', containerID: 'docker://x' })] },
    ),
    state: podState([sandbox()], [running()]),
    actions: [],
  },
  {
    name: 'ends an ephemeral container with its pod',
    pod: pod({ restartPolicy: 'Never', ephemeralContainers: [container('look')] }),
    state: podState([sandbox()], [exited(0), running({ name: 'look' })]),
    actions: ['stop look-0 in 30'],
  },
  {
    name: 'starts no ephemeral container in a pod that is done',
    pod: pod({ restartPolicy: 'Never', ephemeralContainers: [container('look')] }),
    state: podState([sandbox()], [exited(0)]),
    actions: [],
  },
  {
    name: 'does not stop twice',
    pod: pod({}, {}, deleted),
    state: podState([sandbox()], [running()]),
    memory: { ...MOUNTED, stopping: stopping('main-0', 'signal', 4_000) },
    actions: [],
  },
  {
    name: 'stops again when the grace was shortened',
    pod: pod({}, {}, { ...deleted, deletionGracePeriodSeconds: 0 }),
    state: podState([sandbox()], [running()]),
    memory: { ...MOUNTED, stopping: stopping('main-0', 'signal', 4_000) },
    actions: ['stop main-0 in 0'],
  },
  {
    name: 'removes the containers and sandbox of a deleted pod that has ended',
    pod: pod({}, {}, deleted),
    state: podState([sandbox()], [exited(0)]),
    actions: ['removeContainer main-0', 'removeSandbox sandbox-0'],
  },
  { name: 'releases a deleted pod without containers', pod: pod({}, {}, deleted), actions: ['release'] },
  {
    name: 'removes the containers of a pod without an object',
    pod: undefined,
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'gives a pod without an object no more than the default grace',
    pod: undefined,
    state: { ...podState([sandbox()], [running()]), graceSeconds: 1_000_000 },
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'ends the sandbox of a pod that has ended, keeping containers for their logs',
    pod: pod({ restartPolicy: 'Never' }, { phase: 'Succeeded' }),
    state: podState([sandbox()], [exited(0)]),
    actions: ['stopSandbox sandbox-0'],
  },
  {
    name: 'stops a pod that has been active for too long',
    pod: pod({ activeDeadlineSeconds: 60 }, { startTime: '2026-01-01T00:09:00Z' }),
    state: podState([sandbox()], [running()]),
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'creates nothing of a pod that the node rejects',
    pod: pod(),
    memory: { ...emptyMemory, rejection: { reason: 'PodOSNotSupported', message: 'why' } },
    actions: [],
  },
  {
    name: 'stops a pod that the node rejects although it runs',
    pod: pod(),
    state: podState([sandbox()], [running()]),
    memory: { ...MOUNTED, rejection: { reason: 'SysctlForbidden', message: 'why' } },
    actions: ['stop main-0 in 30'],
  },
  {
    name: 'plans again at the active deadline',
    pod: pod({ activeDeadlineSeconds: 90 }, { startTime: '2026-01-01T00:09:00Z' }),
    state: podState([sandbox()], [running()]),
    actions: [],
    requeueInMs: 30_000,
  },
];

const STOPS = [
  { why: 'a restart', policy: 'Always', message: 'Container main failed liveness probe, will be restarted' },
  { why: 'no restart', policy: 'Never', message: 'Container main failed liveness probe' },
];

it.each(STOPS)('a stop before $why says so', ({ policy, message }) => {
  const state = podState([sandbox()], [running()]);
  const { actions } = computePodActions(pod({ restartPolicy: policy }), state, failing('liveness'), NOW);
  expect(actions).toMatchObject([{ kind: 'stopContainer', message }]);
});

describe('the plan of a pod', () => {
  it.each(cases)('$name', ({ pod: object, state, memory = MOUNTED, actions, requeueInMs, waiting = {} }) => {
    const plan = computePodActions(object, state, memory, NOW);
    expect(plan.actions.map(brief)).toEqual(actions);
    expect(plan.requeueAt).toBe(requeueInMs === undefined ? undefined : NOW + requeueInMs);
    expect(Object.fromEntries([...plan.waiting].map(([name, { reason }]) => [name, reason]))).toEqual(waiting);
  });

  it("reports a crashing container with kubelet's message", () => {
    const state = podState([sandbox()], [exited(1, { attempt: 5, restartDelayMs: 80_000 })]);
    expect(computePodActions(pod(), state, MOUNTED, NOW).waiting.get('main')?.message).toBe(
      'back-off 1m20s restarting failed container=main pod=web_default(uid-1)',
    );
  });
});
