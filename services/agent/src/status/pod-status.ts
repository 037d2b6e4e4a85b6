import { formatTime, type Instant } from '@gantry/base';
import {
  type ContainerStatus,
  hasRestartOfAll,
  isFinalPhase,
  type Pod,
  type PodStatus,
  type ContainerState as ReportedState,
  type PodCondition,
} from '@gantry/objects';
import {
  ephemeralContainersOf,
  initContainersOf,
  mainContainersOf,
  type PodContainer,
} from '../spec/pod-containers.ts';
import { PREEMPTED_CONDITION } from '../spec/preemption.ts';
import { grantedPod } from '../spec/resize.ts';
import { evictionReason, type PodMemory } from '../plan/pod-memory.ts';
import type { PodPlan } from '../plan/pod-plan.ts';
import { ALL_RESTARTING, restartingNames, restartSources } from '../plan/restarted-containers.ts';
import type { ContainerState } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { PodState } from '../runtime/observer.ts';
import { type ConditionDraft, podConditions } from './conditions.ts';
import { containerStatus } from './container-status.ts';
import { podPhase } from './phase.ts';
import { podResourcesStatus } from './pod-resources.ts';
import { resized } from '../plan/plan-resize.ts';
import { isGroupResized } from '../plan/pod-group.ts';

const PENDING = { deferred: 'Deferred', infeasible: 'Infeasible' };
/** The limit of a pod's termination messages together, in bytes (Kubernetes: MaxPodTerminationMessageLogLength). */
const MAX_POD_BYTES = 12 * 1024;

/** The input of a pod's status. */
export interface PodObservation {
  readonly pod: Pod;
  readonly state: PodState | undefined;
  readonly memory: PodMemory;
  readonly plan: PodPlan;
  readonly nodeAddress: string;
  /** Termination messages by container id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Whether the engine supports recursive read-only mounts. */
  readonly recursiveReadOnly: EngineInfo['recursiveReadOnly'];
}

/** The pod's status as the kubelet would write it. Fields and conditions of other owners, such as qosClass, are kept. */
export function podStatus(observed: PodObservation, now: Instant): PodStatus {
  const { state, plan, memory } = observed;
  const pod = grantedPod(observed.pod, memory.resize);
  const old = pod.status ?? {};
  const init = statuses({ ...observed, pod }, initContainersOf(pod), old.initContainerStatuses);
  const main = statuses({ ...observed, pod }, mainContainersOf(pod), old.containerStatuses);
  const ephemeral = statuses(observed, ephemeralContainersOf(pod), old.ephemeralContainerStatuses);
  const isEnded = plan.goal !== 'run' && !isFinalPhase(old.phase ?? '') && !mayRun(state);
  const failure = isEnded && plan.goal === 'end' ? failureOf(observed) : undefined;
  const restarting = restartingNames({ pod, containers: state?.containers ?? [], memory });
  const run = isEnded ? 'ended' : 'open';
  const phase = failure === undefined ? podPhase({ pod, init, main, restarting, run }) : 'Failed';
  const sandbox = state?.sandboxes.find((candidate) => candidate.state === 'running');
  // The volumes of a new pod are mounted while its sandbox starts. No container can start without them.
  const lacksVolumes = typeof memory.volumes === 'object' && state?.containers.length === 0;
  const isReady = sandbox !== undefined && !lacksVolumes;
  const address = pod.spec?.hostNetwork === true ? observed.nodeAddress : (sandbox?.address ?? '');
  // An ended pod keeps its address.
  const podIP = address !== '' ? address : isFinalPhase(phase) || plan.goal !== 'run' ? (old.podIP ?? '') : '';
  const generation = pod.metadata.generation;
  const next: PodStatus = {
    ...old,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    hostIP: observed.nodeAddress,
    hostIPs: [{ ip: observed.nodeAddress }],
    startTime: old.startTime ?? formatTime(now),
    ...(plan.goal === 'run' ? podResourcesStatus(pod, state?.group) : {}),
    ...failure,
    ...(wasRejected(observed) ? {} : containerStatuses({ init, main, ephemeral })),
  };
  if (podIP === '') {
    delete next.podIP;
    delete next.podIPs;
  } else {
    next.podIP = podIP;
    next.podIPs = [{ ip: podIP }];
  }
  const resize = plan.goal === 'run' && !isFinalPhase(phase) ? resizeConditions(pod, state, memory) : [];
  const restart = restartCondition(pod, state?.containers ?? [], phase);
  const disruption = failure === undefined ? [] : disruptionOf(memory);
  next.conditions = podConditions(
    {
      pod,
      phase,
      init,
      main,
      sandbox: isReady ? 'ready' : 'absent',
      more: [...restart, ...resize, ...disruption],
    },
    now,
  );
  return next;
}

interface Statuses {
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
}

function containerStatuses({ init, main, ephemeral }: Statuses): Partial<PodStatus> {
  return {
    containerStatuses: [...main],
    ...(init.length === 0 ? {} : { initContainerStatuses: [...init] }),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: [...ephemeral] }),
  };
}

/**
 * Whether the node has rejected the pod, now or under an earlier agent. Like in the kubelet, its status has no containers, since kubectl
 * shows the reason only then.
 */
function wasRejected({ pod: { status }, state, memory }: PodObservation): boolean {
  if (memory.rejection !== undefined) return true;
  return state === undefined && isFinalPhase(status?.phase ?? '') && status?.containerStatuses === undefined;
}

/**
 * Whether a container of the pod may still run. A pod that the node ends becomes Failed only afterwards, as in the kubelet: a failed pod
 * is removed immediately when it is deleted, and a StatefulSet then creates its successor.
 */
function mayRun(state: PodState | undefined): boolean {
  return state?.containers.some((container) => container.state === 'running') === true;
}

/** Why the node ends a pod that has not ended by itself. */
function failureOf({ memory: { rejection, eviction } }: PodObservation): Pick<PodStatus, 'reason' | 'message'> {
  if (rejection !== undefined) return { reason: rejection.reason, message: `Pod was rejected: ${rejection.message}` };
  if (eviction !== undefined) return { reason: evictionReason(eviction), message: eviction.message };
  return { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' };
}

/** The condition of a restart of all containers, for a pod with rules for it. */
function restartCondition(pod: Pod, containers: readonly ContainerState[], phase: string): readonly ConditionDraft[] {
  if (!hasRestartOfAll(pod.spec)) return [];
  const draft = { type: ALL_RESTARTING, status: 'False' };
  if (phase === 'Succeeded') return [{ ...draft, reason: 'PodCompleted' }];
  if (phase === 'Failed') return [{ ...draft, reason: 'PodFailed' }];
  if (restartSources(pod, containers).length === 0) return [draft];
  const message = 'container exited with restart policy rule';
  return [{ ...draft, status: 'True', reason: 'RestartAllContainersStarted', message }];
}

/** The condition that tells Jobs and others that the pod did not cause its own failure. */
function disruptionOf({ rejection, eviction }: PodMemory): readonly ConditionDraft[] {
  if (rejection !== undefined || eviction === undefined || eviction.cause === 'own-limit') return [];
  const message = eviction.cause === 'critical-pod' ? PREEMPTED_CONDITION : eviction.message;
  return [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }];
}

function statuses(
  observed: PodObservation,
  containers: readonly PodContainer[],
  old: readonly ContainerStatus[] = [],
): readonly ContainerStatus[] {
  const hasInit = (observed.pod.spec?.initContainers ?? []).length > 0;
  const statuses = containers.map(({ container, role }) =>
    containerStatus({
      pod: observed.pod,
      container,
      role,
      attempts: observed.state?.containers.filter((state) => state.name === container.name) ?? [],
      waiting: observed.plan.waiting.get(container.name),
      initialReason: hasInit ? 'PodInitializing' : 'ContainerCreating',
      restartedIds: observed.memory.restartedIds,
      probes: observed.memory.probes.get(container.name),
      previous: old.find((status) => status.name === container.name),
      messages: observed.messages,
      recursiveReadOnly: observed.recursiveReadOnly,
    }),
  );
  return limitMessages(observed.pod, statuses);
}

/** Truncates each termination message to its container's share of the pod's limit, in bytes of UTF-8. */
function limitMessages({ spec }: Pod, statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const kinds = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers];
  const count = kinds.reduce((sum, containers) => sum + (containers?.length ?? 0), 0);
  const maxBytes = Math.floor(MAX_POD_BYTES / Math.max(1, count));
  return statuses.map((status) => ({
    ...status,
    ...(status.state === undefined ? {} : { state: limited(status.state, maxBytes) }),
    ...(status.lastState === undefined ? {} : { lastState: limited(status.lastState, maxBytes) }),
  }));
}

function limited(state: ReportedState, maxBytes: number): ReportedState {
  const message = state.terminated?.message;
  if (state.terminated === undefined || message === undefined || Buffer.byteLength(message) <= maxBytes) return state;
  return { ...state, terminated: { ...state.terminated, message: cut(message, maxBytes) } };
}

/** The longest prefix that fits, without an incomplete character. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}

/** The conditions of a resize; empty without one. `pod` must have the resources in effect. */
function resizeConditions(
  pod: Pod,
  state: PodState | undefined,
  { resize, updates, groupUpdate }: PodMemory,
): readonly Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>[] {
  const changing = resized({ pod, containers: state?.containers ?? [] });
  const isGroupChanging = isGroupResized(pod, state?.group);
  const ofGroup = isGroupChanging ? groupUpdate?.failure : undefined;
  const ofContainer = changing
    .map(({ running }) => updates.get(running.name))
    .find(
      (last) => last?.failure !== undefined && changing.some(({ running }) => running.id === last.containerId),
    )?.failure;
  const failure = ofGroup ?? ofContainer;
  return [
    ...(resize.kind === 'fits'
      ? []
      : [{ type: 'PodResizePending', status: 'True', reason: PENDING[resize.kind], message: resize.message }]),
    ...(changing.length === 0 && !isGroupChanging
      ? []
      : [
          {
            type: 'PodResizeInProgress',
            status: 'True',
            ...(failure === undefined ? {} : { reason: 'Error', message: failure.message }),
          },
        ]),
  ];
}
