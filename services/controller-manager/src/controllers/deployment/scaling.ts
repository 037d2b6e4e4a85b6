import type { Deployment, ReplicaSet } from '@gantry/objects';
import { annotatedSize, DESIRED_REPLICAS, MAX_REPLICAS } from './annotations.ts';
import { byAge, desiredReplicas, newSetReplicas, rollingBounds, sum } from './replica-sets.ts';

/** A set and its new size. */
export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

const replicas = (set: ReplicaSet) => set.spec?.replicas ?? 0;

/** Whether the Deployment's size changed since its sets were sized. */
export function isScaling(deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets
    .filter((set) => replicas(set) > 0)
    .some((set) => {
      const sizedFor = annotatedSize(set, DESIRED_REPLICAS);
      return sizedFor !== undefined && sizedFor !== desiredReplicas(deployment);
    });
}

/**
 * New sizes after the Deployment was scaled, or while it is paused. A single active set gets the whole size. A saturated new set scales the
 * old ones to zero. During a rolling update, each set gets its share of the difference.
 */
export function proportionalSizes(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Resize[] {
  const desired = desiredReplicas(deployment);
  const single = activeOrLatest(newSet, old);
  if (single !== undefined) return replicas(single) === desired ? [] : [{ set: single, replicas: desired }];
  if (newSet !== undefined && isSaturated(deployment, newSet)) {
    return old.filter((set) => replicas(set) > 0).map((set) => ({ set, replicas: 0 }));
  }
  if (deployment.spec?.strategy?.type === 'Recreate') return [];
  const active = [...old, ...(newSet === undefined ? [] : [newSet])].filter((set) => replicas(set) > 0);
  const allowed = desired > 0 ? desired + rollingBounds(deployment).maxSurge : 0;
  return shares(deployment, active, allowed);
}

function shares(deployment: Deployment, active: readonly ReplicaSet[], allowed: number): Resize[] {
  const toAdd = allowed - sum(active, replicas);
  // Larger sets first. Among equal sets, newer ones gain first and older ones lose first.
  const sorted = [...active].sort((a, b) => replicas(b) - replicas(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)));
  let added = 0;
  const sizes = sorted.map((set) => {
    const share = shareOf(deployment, set, allowed, toAdd - added);
    added += share;
    return { set, replicas: replicas(set) + share };
  });
  return sizes.map((size, i) => (i === 0 ? { ...size, replicas: Math.max(0, size.replicas + toAdd - added) } : size));
}

function shareOf(deployment: Deployment, set: ReplicaSet, allowed: number, left: number): number {
  if (left === 0) return 0;
  const desired = desiredReplicas(deployment);
  if (desired === 0) return Math.max(-replicas(set), left);
  const annotated = annotatedSize(set, MAX_REPLICAS) ?? 0;
  const before = annotated > 0 ? annotated : (deployment.status?.replicas ?? 0);
  if (before === 0) return 0;
  const fraction = Math.round((replicas(set) * allowed) / before) - replicas(set);
  return left > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

/** The only set with pods, or the newest if none has pods; undefined if several have. */
function activeOrLatest(newSet: ReplicaSet | undefined, old: readonly ReplicaSet[]): ReplicaSet | undefined {
  const active = [...old, ...(newSet === undefined ? [] : [newSet])].filter((set) => replicas(set) > 0);
  if (active.length > 1) return undefined;
  if (active.length === 1) return active[0];
  return newSet ?? [...old].sort(byAge).at(-1);
}

function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const desired = desiredReplicas(deployment);
  return (
    replicas(set) === desired &&
    annotatedSize(set, DESIRED_REPLICAS) === desired &&
    (set.status?.availableReplicas ?? 0) === desired
  );
}

/** The next step of a rolling update: the new set is resized first, otherwise old ones shrink. */
export function rollingSizes(deployment: Deployment, newSet: ReplicaSet, old: readonly ReplicaSet[]): Resize[] {
  const desired = desiredReplicas(deployment);
  const target = replicas(newSet) > desired ? desired : newSetReplicas(deployment, [newSet, ...old], replicas(newSet));
  if (target !== replicas(newSet)) return [{ set: newSet, replicas: target }];
  return shrinkOld(deployment, newSet, old);
}

/**
 * Shrinks old sets by the surplus: unhealthy pods first, then available ones. A set's status may be older than its size, so it never counts
 * more than its size, and a step never exceeds what the sizes alone allow.
 */
function shrinkOld(deployment: Deployment, newSet: ReplicaSet, old: readonly ReplicaSet[]): Resize[] {
  if (sum(old, replicas) === 0) return [];
  const all = [newSet, ...old];
  const minAvailable = desiredReplicas(deployment) - rollingBounds(deployment).maxUnavailable;
  const newUnavailable = replicas(newSet) - (newSet.status?.availableReplicas ?? 0);
  const mayGo = sum(all, replicas) - minAvailable - newUnavailable;
  if (mayGo <= 0) return [];
  const sizes = new Map(old.map((set) => [set, replicas(set)]));
  const sorted = [...old].sort(byAge);
  let unhealthyLeft = mayGo;
  for (const set of sorted) {
    const unhealthy = Math.min(unhealthyLeft, Math.max(0, replicas(set) - (set.status?.availableReplicas ?? 0)));
    sizes.set(set, replicas(set) - unhealthy);
    unhealthyLeft -= unhealthy;
  }
  const available = sum(all, (set) => Math.min(set.status?.availableReplicas ?? 0, replicas(set)));
  let healthyLeft = Math.min(available - minAvailable, unhealthyLeft);
  for (const set of sorted) {
    const size = sizes.get(set) ?? 0;
    const healthy = Math.min(Math.max(0, healthyLeft), size);
    sizes.set(set, size - healthy);
    healthyLeft -= healthy;
  }
  return [...sizes].filter(([set, size]) => size !== replicas(set)).map(([set, size]) => ({ set, replicas: size }));
}
