import type { Instant } from '@gantry/base';
import { hasEnded, type Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import { containerNamed, initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';
import type { PodMemory } from './pod-memory.ts';
import type { PlanDraft, PodGoal } from './pod-plan.ts';
import { stopContainer } from './stop-rules.ts';

/** Parameters for ending the containers of a pod. */
export interface PodEnd {
  readonly pod: Pod | undefined;
  readonly memory: PodMemory;
  readonly graceSeconds: number;
  readonly now: Instant;
  readonly afterwards?: 'started-again';
}

/** Everything of a pod that exists in the engine. */
type PodRemains = Pick<PodState, 'containers' | 'sandboxes' | 'imageHolds'>;

/**
 * Ends a pod in order. First its containers stop. Then, an ended pod loses its sandbox, and its containers stay as long as the node has
 * room for them; a deleted pod loses everything and is released when nothing is left.
 */
export function planStop(draft: PlanDraft, remains: PodRemains, goal: PodGoal, end: PodEnd): void {
  const { containers, sandboxes, imageHolds } = remains;
  const running = containers.filter((container) => container.state === 'running');
  endContainers(draft, running, end);
  if (running.length > 0) return;
  if (goal === 'end') {
    if (isReclaimed(end)) removeAll(draft, remains);
    else
      for (const { id, state } of sandboxes) if (state === 'running') draft.actions.push({ kind: 'stopSandbox', id });
    return;
  }
  removeAll(draft, remains);
  if (containers.length + sandboxes.length + imageHolds.length === 0) draft.actions.push({ kind: 'release' });
}

/** Only once the API has the pod's final status, since nothing else will be left of the pod. */
function isReclaimed({ pod, memory }: PodEnd): boolean {
  return memory.remains === 'reclaimed' && hasEnded(pod);
}

function removeAll(draft: PlanDraft, { containers, sandboxes, imageHolds }: PodRemains): void {
  for (const id of imageHolds) draft.actions.push({ kind: 'removeContainer', id });
  for (const { id } of containers) draft.actions.push({ kind: 'removeContainer', id });
  for (const { id } of sandboxes) draft.actions.push({ kind: 'removeSandbox', id });
}

/**
 * Stops these containers of a pod that needs none of them any more. All preStop hooks run at once. The stop signal of a sidecar waits
 * until the main containers and the later sidecars have ended, or the grace period is over.
 */
export function endContainers(draft: PlanDraft, running: readonly ContainerState[], end: PodEnd): void {
  const { pod, memory, graceSeconds, now, afterwards } = end;
  const names = new Set(running.map(({ name }) => name));
  for (const container of running) {
    const { id, name } = container;
    const stopping = memory.stopping.get(id);
    const signalled = isHeldUp(pod, name, names) ? 'in-its-turn' : 'after-hook';
    // Skip containers that are stopping already, unless the grace period was shortened since.
    if (stopping === undefined || stopping.killAt > now + graceSeconds * 1000) {
      const spec = pod === undefined ? undefined : containerNamed(pod, name);
      const cause = { reason: 'Killing', message: `Stopping container ${name}` } as const;
      const preStop = stopping === undefined ? spec?.lifecycle?.preStop : undefined;
      stopContainer(draft, container, graceSeconds, { ...cause, preStop, signalled, afterwards });
    } else if (stopping.phase === 'turn' && (signalled === 'after-hook' || now >= stopping.killAt)) {
      draft.actions.push({ kind: 'signalContainer', id, graceSeconds: Math.max(0, stopping.killAt - now) / 1000 });
    } else if (stopping.phase === 'turn') draft.requeue(stopping.killAt);
  }
}

/** Whether containers are running that must end before this one. */
function isHeldUp(pod: Pod | undefined, name: string, running: ReadonlySet<string>): boolean {
  if (pod === undefined) return false;
  const before = initContainersOf(pod);
  const index = before.findIndex(({ role, container }) => role === 'sidecar' && container.name === name);
  if (index < 0) return false;
  const later = before.slice(index + 1).filter(({ role }) => role === 'sidecar');
  return [...mainContainersOf(pod), ...later].some(({ container }) => running.has(container.name));
}
