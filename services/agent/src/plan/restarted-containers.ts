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

/** The condition of a pod all of whose containers are restarted since one of them has exited. */
export const ALL_RESTARTING = 'AllContainersRestarting';
const NONE: ReadonlySet<string> = new Set();

/** How a container is shown that was removed for that, in kubelet's words. */
export const RESTARTING_ALL = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
} as const satisfies Waiting;

/**
 * The newest attempts whose exit restarts all containers of the pod, as long as they exist: they are removed when all others have been,
 * so that an agent that is started meanwhile goes on.
 */
export function restartSources(pod: Pod, containers: readonly ContainerState[]): readonly ContainerState[] {
  return ownContainersOf(pod).flatMap(({ container }) => {
    const latest = containers.find(({ name }) => name === container.name);
    if (latest?.state !== 'exited') return [];
    return restartsAll(matchingRestartRule(container, latest.exitCode ?? 0)) ? [latest] : [];
  });
}

/**
 * Ids of the containers that the latest restart of all removes, or has removed. Where only the pod's status has one of them, its exit does
 * not count any more. `before`: the ids of the plan before; an agent that is started meanwhile takes them from the status.
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
 * Container name → how long the successor of its next attempt is to wait, since the latest restart of all: that removes the attempts which
 * know. It grows for a container whose exit restarts all, and stays for the others, so that two cannot take turns. `before`: the delays of
 * the plan before; an agent that is started after the removal begins anew.
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

/** Whether a container of the pod was removed by a restart of all, and has not been started again. */
export function isRemovedForRestart({ pod, containers, memory }: RestartedPod, name: string): boolean {
  if (memory.restartedIds.size === 0 || containers.some((container) => container.name === name)) return false;
  const status = reportedStatus(pod, name);
  return status !== undefined && memory.restartedIds.has(engineIdOf(status));
}

/** Names of the pod's containers that take part in a restart of all, or were stopped for new resources: their ends are not final. */
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

/** Containers of the pod's own, not those that were added to look into it. */
export function ownStates(pod: Pod, containers: readonly ContainerState[]): readonly ContainerState[] {
  const names = new Set(ownContainersOf(pod).map(({ container }) => container.name));
  return containers.filter(({ name }) => names.has(name));
}
