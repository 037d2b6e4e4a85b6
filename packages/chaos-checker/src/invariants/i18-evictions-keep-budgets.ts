import {
  type ApiObject,
  controllerOf,
  hasCondition,
  isActive,
  isTerminal,
  matches,
  scaled,
} from '../history/api-objects.ts';
import type { ObjectVersion, World } from '../history/world.ts';
import { boundsOf, type Invariant } from './invariant.ts';

const BUDGETS = 'policy/poddisruptionbudgets';

/**
 * I18 (Kubernetes: PodDisruptionBudget). When an eviction is committed, which gives a pod the condition DisruptionTarget with the reason
 * EvictionByEvictionAPI, the other ready pods of each budget that selects it are as many as it asks for. A budget's status may be some
 * seconds old: pods that were lost otherwise in that time count as ready. No budget's status ever allows fewer than no disruption: each
 * eviction takes one that it allowed. From etcd's history.
 */
export const evictionsKeepBudgets: Invariant = {
  id: 'I18',
  title: 'Evictions keep disruption budgets',
  unit: 'evictions under a budget',
  needs: ['etcd'],
  observe(world, findings) {
    const { staleMs } = boundsOf(world);
    const losses: { readonly atMs: number; readonly namespace: string; readonly pod: ApiObject }[] = [];
    return {
      change({ resource, key, namespace, before, after, atMs, source }) {
        const { disruptionsAllowed: allowed = 0 } = after?.object?.status ?? {};
        if (resource === BUDGETS && allowed < 0) {
          findings.violation(
            atMs,
            `${key} allows ${allowed} disruptions: an eviction took one more than it had`,
            source,
          );
        }
        if (resource !== 'pods' || before === undefined) return;
        const old = before.object;
        const pod = after?.object;
        if (old === undefined || !isActive(old)) return;
        const evicted = isEvicted(pod) && pod?.metadata?.deletionTimestamp !== undefined;
        const lost = hasCondition(old, 'Ready') && (pod === undefined || !isActive(pod) || !hasCondition(pod, 'Ready'));
        if (!evicted) {
          if (lost) losses.push({ atMs, namespace, pod: old });
          return;
        }
        while ((losses[0]?.atMs ?? atMs) < atMs - staleMs) losses.shift();
        for (const version of world.list(BUDGETS)) {
          const budget = version.object;
          if (version.namespace !== namespace || !matches(budget?.spec?.selector, old.metadata?.labels)) continue;
          const covered = coveredPods(world, namespace, budget);
          const needed = required(world, budget, covered);
          if (needed === undefined) {
            findings.undecided(`${version.key}: the expected number of pods is not known`);
            continue;
          }
          findings.checked();
          const ready = covered.filter((one) => isActive(one) && hasCondition(one, 'Ready')).length;
          const lostBefore = losses.filter(
            (one) => one.namespace === namespace && matches(budget?.spec?.selector, one.pod.metadata?.labels),
          ).length;
          // The eviction of a pod that is not ready takes nothing away.
          if (!hasCondition(old, 'Ready') || ready + lostBefore >= needed) continue;
          findings.violation(
            atMs,
            `the eviction of ${key} leaves ${ready} ready pods, ${version.key} needs ${needed}`,
            version.source,
            before.source,
            source,
          );
        }
      },
    };
  },
};

function isEvicted(pod: ApiObject | undefined): boolean {
  return (
    pod?.status?.conditions?.some(
      ({ type, status, reason }) =>
        type === 'DisruptionTarget' && status === 'True' && reason === 'EvictionByEvictionAPI',
    ) === true
  );
}

function coveredPods(world: World, namespace: string, budget: ApiObject | undefined): readonly ApiObject[] {
  const pods: ApiObject[] = [];
  for (const version of world.list('pods')) {
    const pod = version.object;
    if (version.namespace !== namespace || pod === undefined || isTerminal(pod)) continue;
    if (matches(budget?.spec?.selector, pod.metadata?.labels)) pods.push(pod);
  }
  return pods;
}

/** How many ready pods a budget asks for. Undefined if that depends on controllers whose replicas are not known. */
function required(world: World, budget: ApiObject | undefined, pods: readonly ApiObject[]): number | undefined {
  const { minAvailable, maxUnavailable } = budget?.spec ?? {};
  if (typeof minAvailable === 'number') return minAvailable;
  const owners = new Map<string, ObjectVersion>();
  for (const pod of pods) {
    const owner = topOwner(world, pod);
    if (owner === undefined) return undefined;
    owners.set(owner.key, owner);
  }
  const expected = [...owners.values()].reduce((sum, { object }) => sum + (object?.spec?.replicas ?? 1), 0);
  if (minAvailable !== undefined) return scaled(minAvailable, expected, 'up');
  const unavailable = scaled(maxUnavailable ?? 0, expected, 'up');
  return unavailable === undefined ? undefined : expected - unavailable;
}

function topOwner(world: World, pod: ApiObject): ObjectVersion | undefined {
  const owner = world.byUid.get(controllerOf(pod)?.uid ?? '');
  if (owner?.resource === 'apps/statefulsets') return owner;
  if (owner?.resource !== 'apps/replicasets') return undefined;
  return world.byUid.get(controllerOf(owner.object)?.uid ?? '') ?? owner;
}
