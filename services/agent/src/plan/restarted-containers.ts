import { hasRestartOfAll, matchingRestartRule, type Pod, restartsAll } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { ownContainersOf } from '../spec/pod-containers.ts';
import { reportedStatus, reportedStatuses } from '../spec/reported-status.ts';
import type { PodMemory } from './pod-memory.ts';
import type { Waiting } from './pod-plan.ts';
import { nextRestartDelayMs } from './restart-delay.ts';
import { engineIdOf } from '../runtime/labels.ts';

interface RestartedPod {
  readonly pod: Pod;
  /** Newest attempts first. */
  readonly containers: readonly ContainerState[];
  readonly memory: Pick<PodMemory, 'restartedIds' | 'resized'>;
}

/** The condition of a pod whose containers are all being restarted because one has exited. */
export const ALL_RESTARTING = 'AllContainersRestarting';
const NONE: ReadonlySet<string> = new Set();

/** The waiting reason of a container that was removed for a restart of all containers; the kubelet's message. */
export const RESTARTING_ALL = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
} as const satisfies Waiting;

/**
 * The newest attempts whose exit restarts all containers of the pod. They are removed after all other containers, so an agent that
 * restarts in between still sees them and continues.
 */
export function restartSources(pod: Pod, containers: readonly ContainerState[]): readonly ContainerState[] {
  return ownContainersOf(pod).flatMap(({ container }) => {
    const latest = containers.find(({ name }) => name === container.name);
    if (latest?.state !== 'exited') return [];
    return restartsAll(matchingRestartRule(container, latest.exitCode ?? 0)) ? [latest] : [];
  });
}

/**
 * Ids of the containers that the latest restart of all containers removes or has removed. The exit of such a container no longer counts
 * when only the pod's status still shows it. `before`: the ids of the previous plan; a restarted agent takes them from the status.
 */
export function restartedIds(
  pod: Pod,
  containers: readonly ContainerState[],
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  if (!hasRestartOfAll(pod.spec)) return NONE;
  const own = ownStates(pod, containers).map(({ id }) => id);
  const isReported = pod.status?.conditions?.some(({ type, status }) => type === ALL_RESTARTING && status === 'True');
  const ids = isReported === true ? reportedStatuses(pod).map(engineIdOf) : [];
  const reported = ids.filter((id) => id !== '');
  if (restartSources(pod, containers).length === 0) return new Set([...before, ...reported]);
  const goesOn = own.some((id) => before.has(id));
  return new Set([...(goesOn ? before : []), ...reported, ...own]);
}

/**
 * Container name → the restart delay after its next attempt, since the latest restart of all containers. It is kept here because that
 * restart removes the attempts that carry it. It grows for a container whose exit restarts all containers, and stays equal for the
 * others, so that two such containers cannot avoid the delay by taking turns. `before`: the delays of the previous plan; an agent that
 * restarts after the removal starts again without delays.
 */
export function restartDelays(
  pod: Pod,
  containers: readonly ContainerState[],
  before: ReadonlyMap<string, number>,
  maxRestartDelayMs: number,
): ReadonlyMap<string, number> {
  const sources = restartSources(pod, containers);
  if (sources.length === 0) return before;
  const oldestFirst = ownStates(pod, containers).toReversed();
  return new Map([
    ...before,
    ...oldestFirst.map(({ name, restartDelayMs }) => [name, restartDelayMs] as const),
    ...sources.map((source) => [source.name, nextRestartDelayMs(source, maxRestartDelayMs)] as const),
  ]);
}

/** Whether a restart of all containers has removed a container of the pod and the container has not started again. */
export function isRemovedForRestart({ pod, containers, memory }: RestartedPod, name: string): boolean {
  if (memory.restartedIds.size === 0 || containers.some((container) => container.name === name)) return false;
  const status = reportedStatus(pod, name);
  return status !== undefined && memory.restartedIds.has(engineIdOf(status));
}

/**
 * Names of the pod's containers that take part in a restart of all containers, or were stopped for new resources. Their ends are not
 * final.
 */
export function restartingNames(observed: RestartedPod): ReadonlySet<string> {
  const { pod, containers, memory } = observed;
  if (memory.restartedIds.size + memory.resized.size === 0) return NONE;
  const names = ownContainersOf(pod).map(({ container }) => container.name ?? '');
  const isRestarting = (name: string) => {
    const latest = containers.find((container) => container.name === name);
    if (latest === undefined) return isRemovedForRestart(observed, name);
    return memory.restartedIds.has(latest.id) || memory.resized.has(latest.id);
  };
  return new Set(names.filter(isRestarting));
}

/** The pod's own containers, without ephemeral containers. */
export function ownStates(pod: Pod, containers: readonly ContainerState[]): readonly ContainerState[] {
  const names = new Set(ownContainersOf(pod).map(({ container }) => container.name));
  return containers.filter(({ name }) => names.has(name));
}
