import { formatTime } from '@gantry/base';
import { equalJson } from '@gantry/objects';
import { recursiveReadOnlyOf } from '../spec/recursive-read-only.ts';
import { resourceLimits } from '../spec/resources.ts';
import type {
  ContainerState as ApiState,
  ContainerStateTerminated,
  ContainerStatus,
  Container,
  Pod,
} from '@gantry/objects';
import type { ContainerRole } from '../spec/pod-containers.ts';
import type { ProbeFindings } from '../probes/probe-counter.ts';
import { restartsForRequest } from '../plan/plan-resize.ts';
import type { Waiting } from '../plan/pod-plan.ts';
import { RESTARTING_ALL } from '../plan/restarted-containers.ts';
import type { ContainerState } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import { containerId, engineIdOf } from '../runtime/labels.ts';

/** The input of a container's status. */
export interface ContainerObservation {
  readonly pod: Pick<Pod, 'spec'>;
  readonly container: Container;
  readonly role: ContainerRole;
  /** Attempts in the engine, newest first. */
  readonly attempts: readonly ContainerState[];
  readonly waiting: Waiting | undefined;
  /** The waiting reason if no other is known. */
  readonly initialReason: 'ContainerCreating' | 'PodInitializing';
  /** Ids of containers that a restart of all containers has removed. */
  readonly restartedIds: ReadonlySet<string>;
  readonly probes: ProbeFindings | undefined;
  readonly previous: ContainerStatus | undefined;
  /** Termination messages by container id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Whether the engine supports recursive read-only mounts. */
  readonly recursiveReadOnly: EngineInfo['recursiveReadOnly'];
}

const OOM_KILLED = 'OOMKilled';
/** The reason for a container that the engine could not start: Kubernetes' reason with Docker. With containerd it is `StartError`. */
const CANNOT_RUN = 'ContainerCannotRun';

/** The reported state of an ended attempt. */
function terminatedState(
  state: ContainerState,
  { messages, previous }: Pick<ContainerObservation, 'messages' | 'previous'>,
): ContainerStateTerminated {
  const exitCode = state.exitCode ?? 0;
  const text = state.error ?? messages.get(state.id);
  return {
    exitCode,
    reason: terminationReason(state, exitCode, previous),
    ...(text === undefined || text === '' ? {} : { message: text }),
    startedAt: formatTime(state.startedAt ?? state.createdAt),
    finishedAt: formatTime(state.finishedAt ?? state.createdAt),
    containerID: containerId(state),
  };
}

function terminationReason(state: ContainerState, exitCode: number, previous: ContainerStatus | undefined): string {
  if (state.error !== undefined) return CANNOT_RUN;
  if (state.endedBy === 'oom') return OOM_KILLED;
  // Some engines report this only by an event, which a restarted agent does not receive.
  const reported = [previous?.state?.terminated, previous?.lastState?.terminated];
  if (reported.some((end) => end?.containerID === containerId(state) && end.reason === OOM_KILLED)) return OOM_KILLED;
  return exitCode === 0 ? 'Completed' : 'Error';
}

/** The reported status of one container. */
export function containerStatus(observed: ContainerObservation): ContainerStatus {
  const { container, attempts, previous, probes, role } = observed;
  const current = attempts[0];
  const state = stateOf(observed, current);
  const running = state.running !== undefined;
  const mine = probes !== undefined && probes.containerId === current?.id ? probes : undefined;
  if (role === 'ephemeral') return ephemeralStatus(observed, current, state);
  const started = running && (container.startupProbe === undefined || mine?.started === true);
  const ready = running && started && (container.readinessProbe === undefined || mine?.ready === true);
  const done = role === 'init' && state.terminated?.exitCode === 0;
  return {
    name: container.name,
    state,
    lastState: lastStateOf(observed, current, state),
    ready: ready || done,
    restartCount: restartCountOf(observed, current),
    image: container.image ?? '',
    imageID: current?.imageId ?? previous?.imageID ?? '',
    containerID: current === undefined ? previous?.containerID : containerId(current),
    started,
    ...resourcesOf(observed, current),
    stopSignal: container.lifecycle?.stopSignal,
    ...userOf(current),
    ...mountsOf(observed),
  };
}

/** The status of an ephemeral container, without probes and restarts. It is never ready, because it serves nothing. */
function ephemeralStatus(
  observed: ContainerObservation,
  current: ContainerState | undefined,
  state: ApiState,
): ContainerStatus {
  const { container, previous } = observed;
  const id = current === undefined ? previous?.containerID : containerId(current);
  return {
    name: container.name,
    state,
    lastState: {},
    ready: false,
    restartCount: 0,
    image: container.image ?? '',
    imageID: current?.imageId ?? previous?.imageID ?? '',
    containerID: id,
    ...userOf(current),
    ...mountsOf(observed),
  };
}

/** A container that was removed by a restart of all containers counts as restarted when its removal is first reported. */
function restartCountOf({ previous, waiting }: ContainerObservation, current: ContainerState | undefined): number {
  const reported = previous?.restartCount ?? 0;
  if (current !== undefined || waiting !== RESTARTING_ALL) return Math.max(current?.attempt ?? 0, reported);
  return previous?.state?.waiting?.reason === RESTARTING_ALL.reason ? reported : reported + 1;
}

function stateOf(observed: ContainerObservation, current: ContainerState | undefined): ApiState {
  const { waiting, previous, initialReason } = observed;
  if (current?.state === 'running')
    return { running: { startedAt: formatTime(current.startedAt ?? current.createdAt) } };
  if (waiting !== undefined) return { waiting: { message: waiting.message, reason: waiting.reason } };
  if (current?.state === 'exited') return { terminated: terminatedState(current, observed) };
  if (current === undefined && previous?.state?.terminated !== undefined) return previous.state;
  return { waiting: { reason: initialReason } };
}

function lastStateOf(observed: ContainerObservation, current: ContainerState | undefined, state: ApiState): ApiState {
  const { attempts, previous, restartedIds } = observed;
  // During the back-off before a restart, the newest attempt is the last state; otherwise the attempt before it.
  const last = state.waiting !== undefined && current?.state === 'exited' ? current : attempts[1];
  if (last?.state === 'exited') return { terminated: terminatedState(last, observed) };
  if (previous === undefined) return {};
  // The container was started from outside and is being stopped. The status already contains its first end.
  if (attempts.length > 1) return last?.state === 'running' ? (previous.lastState ?? {}) : {};
  const isGone = current === undefined || containerId(current) !== previous.containerID;
  if (isGone && restartedIds.has(engineIdOf(previous))) {
    return { terminated: { exitCode: 137, ...RESTARTING_ALL } };
  }
  // The container was removed without the agent, after or before its end was reported.
  const ended = previous.state?.terminated;
  if (ended !== undefined && current !== undefined && ended.containerID !== containerId(current)) {
    return { terminated: ended };
  }
  if (previous.state?.running !== undefined && previous.containerID !== undefined) {
    if (current !== undefined && containerId(current) === previous.containerID) return previous.lastState ?? {};
    return { terminated: lostState(previous.containerID) };
  }
  return previous.lastState ?? {};
}

function lostState(containerID: string): ContainerStateTerminated {
  return {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
    containerID,
  };
}

/** The granted resources, and the engine's current limits. During a resize, these are the limits from before. */
function resourcesOf(observed: ContainerObservation, running: ContainerState | undefined): Partial<ContainerStatus> {
  const { pod, container, previous } = observed;
  if (running?.state !== 'running') return {};
  const { requests, limits } = container.resources ?? {};
  const isApplied =
    equalJson(resourceLimits(pod, container), running.resources) && !restartsForRequest(container, previous, running);
  const before = isApplied || previous?.containerID !== containerId(running) ? undefined : previous.resources;
  return { allocatedResources: requests, resources: before ?? { limits, requests } };
}

/** The user of the newest attempt, running or not, as in the kubelet. */
function userOf(current: ContainerState | undefined): Pick<ContainerStatus, 'user'> {
  if (current?.processUser === undefined) return {};
  const { uid, gid, groups } = current.processUser;
  return { user: { linux: { uid, gid, supplementalGroups: [...groups] } } };
}

function mountsOf({
  container,
  recursiveReadOnly,
}: Pick<ContainerObservation, 'container' | 'recursiveReadOnly'>): Partial<ContainerStatus> {
  const mounts = container.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map((mount) => {
      const { name, mountPath, readOnly } = mount;
      if (readOnly !== true) return { name, mountPath };
      const isRecursive = recursiveReadOnlyOf(mount, recursiveReadOnly) === 'recursive';
      return { name, mountPath, readOnly, recursiveReadOnly: isRecursive ? 'Enabled' : 'Disabled' };
    }),
  };
}
