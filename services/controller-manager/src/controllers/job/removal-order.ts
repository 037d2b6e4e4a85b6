import type { Instant } from '@gantry/base';
import { type Job, type Pod, sidecarNames } from '@gantry/objects';
import { isReady, readySince } from '../../libraries/pods/pod-state.ts';
import { completionIndex, isIndexed, validIndex } from './job-rules.ts';

const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/**
 * The active pods to delete: those with an invalid or duplicate completion index, and more until there are `atLeast`, least advanced first.
 */
export function podsToRemove(job: Job, active: readonly Pod[], atLeast: number): readonly Pod[] {
  const { remove, keep } = isIndexed(job) ? splitByIndex(job, active) : { remove: [], keep: active };
  if (remove.length >= atLeast) return remove;
  return [...remove, ...byProgress(keep).slice(0, atLeast - remove.length)];
}

function splitByIndex(job: Job, active: readonly Pod[]): { remove: readonly Pod[]; keep: readonly Pod[] } {
  const groups = Map.groupBy(active, (pod) => validIndex(pod, job));
  const invalid = groups.get(undefined) ?? [];
  groups.delete(undefined);
  const sorted = [...groups.values()].map((pods) => byProgress(pods)).sort(([a], [b]) => indexOf(a) - indexOf(b));
  return {
    remove: [...invalid, ...sorted.flatMap((pods) => pods.slice(0, -1))],
    keep: sorted.flatMap((pods) => pods.slice(-1)),
  };
}

/** Order: unassigned before assigned, pending before running, unready before ready, ready for a shorter time, more restarts, newer. */
function byProgress(pods: readonly Pod[]): Pod[] {
  return [...pods].sort(
    (a, b) =>
      Number(isAssigned(a)) - Number(isAssigned(b)) ||
      (PHASE_ORDER[a.status?.phase ?? ''] ?? 0) - (PHASE_ORDER[b.status?.phase ?? ''] ?? 0) ||
      Number(isReady(a)) - Number(isReady(b)) ||
      newerFirst(readySince(a), readySince(b)) ||
      restarts(b, 'containers') - restarts(a, 'containers') ||
      restarts(b, 'sidecars') - restarts(a, 'sidecars') ||
      newerFirst(createdAt(a), createdAt(b)) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
}

/** Unknown times first, then later ones before earlier ones. */
function newerFirst(a: Instant | undefined, b: Instant | undefined): number {
  const rank = (at: Instant | undefined) => (at === undefined || at === 0 ? Infinity : at);
  return rank(a) === rank(b) ? 0 : rank(b) - rank(a);
}

function isAssigned({ spec }: Pod): boolean {
  return (spec?.nodeName ?? '') !== '';
}

function restarts(pod: Pod, of: 'containers' | 'sidecars'): number {
  const { status } = pod;
  const sidecars = sidecarNames(pod);
  const statuses =
    of === 'containers'
      ? (status?.containerStatuses ?? [])
      : (status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name));
  return statuses.reduce((most, { restartCount }) => Math.max(most, restartCount), 0);
}

function createdAt({ metadata }: Pod): Instant | undefined {
  return metadata.creationTimestamp === undefined ? undefined : Date.parse(metadata.creationTimestamp);
}

function indexOf(pod: Pod | undefined): number {
  return pod === undefined ? -1 : (completionIndex(pod) ?? -1);
}
