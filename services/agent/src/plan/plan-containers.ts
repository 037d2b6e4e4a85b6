import type { ContainerStatus } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { ephemeralContainersOf, graceSecondsOf, initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';
import { shouldRestart } from '../spec/restart-policy.ts';
import { hasStartedMain, startsNoMore, latestAttempt, type PodInSandbox, type ObservedPod } from './observed-pod.ts';
import { planResize } from './plan-resize.ts';
import { endContainers } from './plan-stop.ts';
import { type PlanDraft } from './pod-plan.ts';
import { planStart } from './start-rules.ts';
import { planStopRules } from './stop-rules.ts';

/** For a pod with a running sandbox: stops, prunes and starts its containers. */
export function planContainers(draft: PlanDraft, observed: PodInSandbox): void {
  const { pod, containers, sandboxes, sandbox } = observed;
  for (const { id } of sandboxes) if (id !== sandbox.id) draft.actions.push({ kind: 'removeSandbox', id });
  planStopRules(draft, observed);
  planResize(draft, observed);
  prune(draft, containers);
  if (startsNoMore(observed)) {
    // Before the volumes are checked: volumes that can no longer be mounted must not keep sidecars running. Containers that a rule stops
    // already are skipped.
    const { memory, now } = observed;
    const stopped = new Set(draft.actions.flatMap((action) => (action.kind === 'stopContainer' ? [action.id] : [])));
    const left = containers.filter(({ id, state }) => state === 'running' && !stopped.has(id));
    endContainers(draft, left, { pod, memory, graceSeconds: graceSecondsOf(pod), now });
    return;
  }
  if (!planVolumes(draft, observed)) return;
  planEphemeral(draft, observed);
  const hasStarted = hasStartedMain(observed);
  if (!hasStarted && !planInit(draft, observed)) return;
  const sidecars = initContainersOf(pod).filter(({ role }) => role === 'sidecar');
  for (const item of [...(hasStarted ? sidecars : []), ...mainContainersOf(pod)]) {
    // Like in the kubelet, the containers after one with a postStart hook start when the hook has ended.
    if (planStart(draft, observed, item) === 'starts' && item.container.lifecycle?.postStart !== undefined) return;
  }
}

/** Keeps the newest attempt of each container and the one before, which `logs --previous` shows. */
function prune(draft: PlanDraft, containers: readonly ContainerState[]): void {
  const kept = new Map<string, number>();
  for (const container of containers) {
    const count = kept.get(container.name) ?? 0;
    if (count >= 2 && container.state !== 'running') draft.actions.push({ kind: 'removeContainer', id: container.id });
    kept.set(container.name, count + 1);
  }
}

/** Starts each ephemeral container once, whether or not the init containers have completed. */
function planEphemeral(draft: PlanDraft, observed: PodInSandbox): void {
  const known = new Set((observed.pod.status?.ephemeralContainerStatuses ?? []).flatMap(startedName));
  for (const item of ephemeralContainersOf(observed.pod)) {
    const { name } = item.container;
    if (latestAttempt(observed, name) !== undefined || !known.has(name)) planStart(draft, observed, item);
  }
}

function startedName({ name, containerID }: ContainerStatus): readonly string[] {
  return containerID === undefined ? [] : [name];
}

/** Starts the next init container. True when all are done and the main containers may start. */
function planInit(draft: PlanDraft, observed: PodInSandbox): boolean {
  const { pod, sandbox, memory } = observed;
  for (const item of initContainersOf(pod)) {
    const { container, role } = item;
    const latest = latestAttempt(observed, container.name);
    const here = latest?.sandboxId === sandbox.id ? latest : undefined;
    if (here?.state === 'running' && role === 'sidecar') {
      if (container.startupProbe === undefined || memory.probes.get(container.name)?.started === true) continue;
      return false;
    }
    if (here?.state === 'running') return false;
    if (here?.state === 'exited' && role === 'init') {
      if (here.exitCode === 0) continue;
      if (!shouldRestart(pod, item, here.exitCode ?? 1)) return false;
    }
    planStart(draft, observed, item, here === undefined ? 'again' : 'by-policy');
    return false;
  }
  return true;
}

/** True when the volumes are ready. A restarted agent first updates the volumes of running containers, before it starts anything. */
export function planVolumes(draft: PlanDraft, { memory: { volumes }, now }: ObservedPod): boolean {
  if (volumes === 'ready') return true;
  if (typeof volumes === 'object' && now < volumes.retryAt) draft.requeue(volumes.retryAt);
  else draft.actions.push({ kind: 'mountVolumes' });
  return false;
}
