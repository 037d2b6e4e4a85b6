import type { Instant } from '@gantry/base';
import { type Pod, hasEnded } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import { graceSecondsOf, ownContainersOf } from '../spec/pod-containers.ts';
import { grantedPod } from '../spec/resize.ts';
import { isStaticUid } from '../spec/static-pod.ts';
import { planContainers } from './plan-containers.ts';
import { planSandbox } from './plan-sandbox.ts';
import { endContainers, planStop } from './plan-stop.ts';
import type { PodMemory } from './pod-memory.ts';
import { PlanDraft, type PodGoal, type PodPlan } from './pod-plan.ts';
import type { ObservedPod } from './observed-pod.ts';
import { crashLoopBackOff, restartAt } from './restart-delay.ts';
import { isRemovedForRestart, ownStates, RESTARTING_ALL, restartSources } from './restarted-containers.ts';
import { stopContainer } from './stop-rules.ts';

/** For containers without a grace period in their labels and without a pod object. */
const DEFAULT_GRACE_SECONDS = 30;

/**
 * The next actions for a pod. The rules apply from top to bottom:
 *
 * 1. `goal`: whether the pod is to run, to end or to be deleted. A pod without an object is deleted, with the grace period of its
 *    containers' labels, limited to the default.
 * 2. `plan-unpause`: paused containers and sandboxes are resumed in any case.
 * 3. `planFence`: a pod that runs at most once stops while its node is cut off from the control plane.
 * 4. `plan-stop`: how a pod ends.
 * 5. `restart-all`: how all containers are restarted after one of them exited.
 * 6. `plan-sandbox`: how the pod gets volumes and a sandbox.
 * 7. `plan-containers`: init containers, sidecars and main containers, by `stop-rules` and `start-rules`.
 *
 * Steps that depend on each other come in successive plans: apply one plan, then plan again. A pod that matches its object gets no
 * action.
 */
export function computePodActions(
  pod: Pod | undefined,
  state: PodState | undefined,
  memory: PodMemory,
  now: Instant,
): PodPlan {
  const draft = new PlanDraft();
  const goal = goalOf(pod, memory, now);
  const { containers = [], sandboxes = [], imageHolds = [] } = state ?? {};
  planUnpause(draft, { containers, sandboxes });
  if (planFence(draft, containers, { pod, goal, memory, now, state })) return draft.finish(goal);
  if (pod === undefined || goal !== 'run') {
    const own = pod === undefined ? graceWithoutObject(state) : graceSecondsOf(pod);
    const graceSeconds = Math.min(own, memory.eviction?.graceSeconds ?? Infinity);
    planStop(draft, { containers, sandboxes, imageHolds }, goal, { pod, memory, graceSeconds, now });
    return draft.finish(goal);
  }
  if (memory.predecessor === 'present') return draft.finish(goal);
  const deadline = activeDeadline(pod);
  if (deadline !== undefined) draft.requeue(deadline);
  const group = state?.group === undefined ? {} : { group: state.group };
  const observed = { pod: grantedPod(pod, memory.resize), containers, sandboxes, memory, now, ...group };
  if (planRestartOfAll(draft, observed)) return draft.finish(goal);
  const sandbox = sandboxes.find((candidate) => candidate.state === 'running');
  if (sandbox === undefined) planSandbox(draft, observed);
  else planContainers(draft, { ...observed, sandbox });
  return draft.finish(goal);
}

/**
 * The grace period of a pod without an object, at most the default. Such a pod was deleted by force, so no policy, quota or eviction
 * limits it any more, and it must not choose how long it stays. Static pods keep their own grace period.
 */
function graceWithoutObject(state: PodState | undefined): number {
  const own = state?.graceSeconds ?? DEFAULT_GRACE_SECONDS;
  return isStaticUid(state?.identity.uid ?? '') ? own : Math.min(own, DEFAULT_GRACE_SECONDS);
}

/** The goal for a pod. A pod without an object is deleted; a pod that the node rejects or evicts ends. */
function goalOf(
  pod: Pod | undefined,
  { rejection, eviction }: Pick<PodMemory, 'rejection' | 'eviction'>,
  now: Instant,
): PodGoal {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return 'delete';
  if (hasEnded(pod) || rejection !== undefined || eviction !== undefined) return 'end';
  const deadline = activeDeadline(pod);
  return deadline !== undefined && now >= deadline ? 'end' : 'run';
}

/** When a pod exceeds its `activeDeadlineSeconds`; undefined without one. */
export function activeDeadline(pod: Pod): Instant | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const start = pod.status?.startTime;
  return seconds === undefined || start === undefined ? undefined : Date.parse(start) + seconds * 1000;
}

/**
 * Resumes paused parts of a pod. The API cannot represent a paused container: it would be shown as running, and as ready without probes,
 * while it does nothing. This also resumes a container that is paused only briefly, such as by `docker commit`.
 */
function planUnpause(draft: PlanDraft, { containers, sandboxes }: Pick<PodState, 'containers' | 'sandboxes'>): void {
  for (const { id, activity } of sandboxes) if (activity === 'paused') draft.actions.push({ kind: 'unpause', id });
  for (const { id, name, activity } of containers)
    if (activity === 'paused') draft.actions.push({ kind: 'unpause', id, name });
}

interface FencedPod {
  readonly pod: Pod | undefined;
  readonly goal: PodGoal;
  readonly memory: PodMemory;
  readonly now: Instant;
  readonly state: PodState | undefined;
}

/**
 * Stops the containers of a pod that runs at most once while the node is cut off, because its successor may be started elsewhere. They start
 * again when the node is connected again and the API still has the pod. Returns false for other pods.
 */
function planFence(
  draft: PlanDraft,
  containers: readonly ContainerState[],
  { pod, goal, memory, now, state }: FencedPod,
): boolean {
  if (!isFenced(memory)) return false;
  const running = containers.filter((container) => container.state === 'running');
  const graceSeconds = pod === undefined ? graceWithoutObject(state) : graceSecondsOf(pod);
  endContainers(draft, running, { pod, memory, graceSeconds, now, afterwards: 'started-again' });
  // The end of a pod that is deleted for certain goes on.
  return running.length > 0 || goal === 'run' || pod === undefined;
}

/** Whether the containers of a pod must stop because its node is cut off from the control plane. */
export function isFenced({ instances, link }: Pick<PodMemory, 'instances' | 'link'>): boolean {
  return instances === 'at-most-one' && link === 'cut-off';
}

/** The kubelet's Event. */
const KILLING = { reason: 'Killing', message: 'killing' } as const;

/**
 * Removes all containers of a pod when one has exited by a rule that restarts all containers. Running containers are killed without hooks
 * and grace period, like in the kubelet. The exited container is removed last, when its restart delay is over. Volumes, sandbox and
 * ephemeral containers stay. Returns false when no such rule applies.
 */
function planRestartOfAll(draft: PlanDraft, observed: ObservedPod): boolean {
  const { pod, containers, memory, now } = observed;
  for (const { container } of ownContainersOf(pod))
    if (isRemovedForRestart(observed, container.name ?? '')) draft.waiting.set(container.name ?? '', RESTARTING_ALL);
  const sources = restartSources(pod, containers);
  if (sources.length === 0) return false;
  const own = ownStates(pod, containers);
  const running = own.filter(({ state }) => state === 'running');
  for (const container of running) {
    const killAt = memory.stopping.get(container.id)?.killAt;
    if (killAt === undefined || killAt > now) stopContainer(draft, container, 0, KILLING);
  }
  if (running.length > 0) return true;
  const others = own.filter((container) => !sources.includes(container));
  const startAt = Math.max(...sources.map((source) => restartAt(source, memory.maxRestartDelayMs)));
  if (now < startAt) {
    draft.requeue(startAt);
    for (const source of sources)
      draft.waiting.set(source.name, crashLoopBackOff(pod, source, memory.maxRestartDelayMs));
  }
  const removed = others.length > 0 ? others : now < startAt ? [] : sources;
  for (const { id } of removed) draft.actions.push({ kind: 'removeContainer', id });
  return true;
}
