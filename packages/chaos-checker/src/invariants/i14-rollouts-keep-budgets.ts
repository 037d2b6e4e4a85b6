import {
  type ApiObject,
  controllerOf,
  hasCondition,
  isActive,
  isEvictedByTaint,
  scaled,
} from '../history/api-objects.ts';
import type { Change, ObjectVersion, World } from '../history/world.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { Recent } from './recent.ts';

/** What a Deployment allows. */
interface Limits {
  readonly replicas: number;
  readonly most: number;
  readonly least: number;
}

/**
 * I14 (Deployment's rolling update). A controller never creates a pod of a Deployment beyond replicas + maxSurge, and never deletes an
 * available one when fewer than replicas - maxUnavailable are left. Pods beyond their ReplicaSet's replicas do not count: their deletion
 * is decided. A controller may act on a view that is some seconds old, so the widest limits of that time count. A deletion counts only if
 * in that time no pod was lost otherwise, and the Deployment was not scaled: scaling is proportional, whatever is available. A pod that is
 * evicted from a tainted node is lost, whatever the Deployment allows. Nor does the deletion of a pod count that was not ready in the view
 * in which its ReplicaSet was scaled down: a rollout removes what is not ready first, and the pod's deletion was decided then. From etcd's
 * history.
 */
export const rolloutsKeepBudgets: Invariant = {
  id: 'I14',
  title: 'Rollouts keep maxSurge and maxUnavailable',
  unit: 'creations and deletions of pods of Deployments by controllers',
  needs: ['etcd'],
  observe(world, findings) {
    const { staleMs } = boundsOf(world);
    const limits = new Map<string, Recent<Limits>>();
    const losses = new Map<string, number>();
    /** By uid: when a ReplicaSet was scaled down, and when a pod became ready. */
    const scaledDownAt = new Map<string, number>();
    const readyAt = new Map<string, number>();
    const wasDecidedBefore = (pod: ApiObject) => {
      const decidedAt = scaledDownAt.get(controllerOf(pod)?.uid ?? '');
      const since = readyAt.get(pod.metadata?.uid ?? '');
      return decidedAt !== undefined && since !== undefined && since >= decidedAt - staleMs;
    };
    const learn = (version: ObjectVersion, atMs: number) => {
      const uid = version.object?.metadata?.uid ?? '';
      const recent = limits.get(uid) ?? new Recent<Limits>(staleMs);
      recent.add(atMs, limitsOf(version.object));
      limits.set(uid, recent);
    };
    const limitsAt = (deployment: ObjectVersion, atMs: number): readonly Limits[] => {
      const uid = deployment.object?.metadata?.uid ?? '';
      if (!limits.has(uid)) learn(deployment, 0);
      return limits.get(uid)?.at(atMs) ?? [];
    };
    const judge = (change: Change, pod: ApiObject, deployment: ObjectVersion) => {
      const { key, before, after, atMs, source } = change;
      const pods = podsOf(world, deployment);
      if (before === undefined) {
        findings.checked();
        const count = countPods(world, deployment);
        const most = Math.max(...limitsAt(deployment, atMs).map((one) => one.most));
        if (count <= most) return;
        findings.violation(
          atMs,
          `${key} is pod ${count} of ${deployment.key}, which allows ${most}`,
          deployment.source,
          source,
        );
        return;
      }
      if (!hasCondition(before.object, 'Ready') || after === undefined || wasDecidedBefore(pod)) return;
      findings.checked();
      const left = pods.filter((one) => isActive(one) && hasCondition(one, 'Ready')).length;
      const seen = limitsAt(deployment, atMs);
      const least = Math.min(...seen.map((one) => one.least));
      if (new Set(seen.map(({ replicas }) => replicas)).size > 1) return;
      if (left >= least || atMs - (losses.get(deployment.key) ?? Number.NEGATIVE_INFINITY) <= staleMs) return;
      const what = `the deletion of ${pod.metadata?.name} leaves ${left} ready pods of ${deployment.key}, which needs ${least}`;
      findings.violation(atMs, what, deployment.source, source);
    };
    return {
      change(change) {
        const { resource, before, after, fence, atMs } = change;
        if (resource === 'apps/deployments' && after !== undefined) {
          if (before !== undefined && !limits.has(before.object?.metadata?.uid ?? '')) learn(before, 0);
          learn(after, atMs);
        }
        if (resource === 'apps/replicasets' && replicasOf(after) < replicasOf(before)) {
          scaledDownAt.set(after?.object?.metadata?.uid ?? '', atMs);
        }
        const pod = (after ?? before)?.object;
        const deployment = resource === 'pods' ? deploymentOf(world, pod) : undefined;
        if (pod === undefined || deployment === undefined) return;
        const old = before?.object;
        if (hasCondition(pod, 'Ready') && !hasCondition(old, 'Ready')) readyAt.set(pod.metadata?.uid ?? '', atMs);
        const deleted = old !== undefined && isActive(old) && (after === undefined || !isActive(pod));
        const isOwnDecision = before === undefined || (deleted && after !== undefined && !isEvictedByTaint(old));
        if (fence !== undefined && isOwnDecision) judge(change, pod, deployment);
        else if (hasCondition(old, 'Ready') && (after === undefined || !isActive(pod) || !hasCondition(pod, 'Ready'))) {
          if (old !== undefined && isActive(old)) losses.set(deployment.key, atMs);
        }
      },
    };
  },
};

const replicasOf = (version: ObjectVersion | undefined) => version?.object?.spec?.replicas ?? 1;

function limitsOf(object: ApiObject | undefined): Limits {
  const { replicas = 1, strategy } = object?.spec ?? {};
  if (strategy?.type === 'Recreate') return { replicas, most: replicas, least: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = scaled(maxSurge, replicas, 'up') ?? 0;
  const down = scaled(maxUnavailable, replicas, 'down') ?? 0;
  // Both may round to nothing; then one may be unavailable.
  return { replicas, most: replicas + surge, least: replicas - (surge === 0 && down === 0 ? 1 : down) };
}

function deploymentOf(world: World, pod: ApiObject | undefined): ObjectVersion | undefined {
  const set = world.byUid.get(controllerOf(pod)?.uid ?? '');
  if (set?.resource !== 'apps/replicasets') return undefined;
  const deployment = world.byUid.get(controllerOf(set.object)?.uid ?? '');
  return deployment?.resource === 'apps/deployments' ? deployment : undefined;
}

/** Active pods, of each ReplicaSet at most its replicas. */
function countPods(world: World, deployment: ObjectVersion): number {
  const sets = world.dependentsOf(deployment.object?.metadata?.uid, 'apps/replicasets');
  return sets.reduce((sum, { object }) => {
    const active = world.dependentsOf(object?.metadata?.uid, 'pods').filter((one) => isActive(one.object)).length;
    return sum + Math.min(active, object?.spec?.replicas ?? 1);
  }, 0);
}

function podsOf(world: World, deployment: ObjectVersion): readonly ApiObject[] {
  const sets = world.dependentsOf(deployment.object?.metadata?.uid, 'apps/replicasets');
  return sets.flatMap(({ object }) =>
    world.dependentsOf(object?.metadata?.uid, 'pods').flatMap((one) => one.object ?? []),
  );
}
