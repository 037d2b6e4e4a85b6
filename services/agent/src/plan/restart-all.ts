import { ownContainersOf } from '../spec/pod-containers.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { PlanDraft } from './pod-plan.ts';
import { crashLoopBackOff, restartAt } from './restart-delay.ts';
import { isRemovedForRestart, ownStates, RESTARTING_ALL, restartSources } from './restarted-containers.ts';
import { stopContainer } from './stop-rules.ts';

/** Kubelet's Event. */
const KILLING = { reason: 'Killing', message: 'killing' } as const;

/**
 * Removes all containers of a pod of which one has exited by a rule that restarts all: what runs is killed without hooks and grace, as by
 * kubelet; what has exited by such a rule goes last, when the delay before its restart is over. Volumes, sandbox and ephemeral containers
 * stay. False when there is none.
 */
export function planRestartOfAll(draft: PlanDraft, observed: ObservedPod): boolean {
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
