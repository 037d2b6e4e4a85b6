import type { Instant } from '@gantry/base';
import { type DaemonSet, type Pod, resolveIntOrPercent } from '@gantry/objects';
import { isAvailable } from '../../libraries/pods/pod-state.ts';
import type { PodsByNode } from './node-pods.ts';
import type { Placement } from './placement.ts';

/** Input of an update step. No node lacks a pod: missing pods are created before an update continues. */
export interface ObservedUpdate {
  readonly set: DaemonSet;
  readonly byNode: PodsByNode;
  /** Undefined for deleted nodes. */
  readonly placement: (nodeName: string) => Placement | undefined;
  readonly desired: number;
  readonly isUpdated: (pod: Pod) => boolean;
}

/** Old pods to delete, and nodes that get a new pod beside an old one. */
export interface UpdateStep {
  readonly remove: readonly Pod[];
  readonly createOn: readonly string[];
}

/** The maximum number of unavailable pods, and of nodes with two pods, for `desired` nodes. One of them is above zero. */
export function updateBounds(set: DaemonSet, desired: number): { surge: number; unavailable: number } {
  const surge = surgeOf(set, desired);
  const { maxUnavailable = 1 } = set.spec?.updateStrategy?.rollingUpdate ?? {};
  const unavailable = resolveIntOrPercent(maxUnavailable, desired, 'up');
  return { surge, unavailable: surge === 0 && unavailable === 0 && desired > 0 ? 1 : unavailable };
}

/** Whether updates of the set start a new pod before the old one of its node ends. */
export function allowsSurge(set: DaemonSet): boolean {
  return surgeOf(set, 1) > 0;
}

function surgeOf({ spec }: DaemonSet, desired: number): number {
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return 0;
  return resolveIntOrPercent(rollingUpdate?.maxSurge ?? 0, desired, 'up');
}

/** The next step of a rolling update within its limits. Planning again after it, with nothing else changed, yields no further step. */
export function nextUpdateStep(observed: ObservedUpdate, now: Instant): UpdateStep {
  // Most of the time there is nothing to update.
  if (!hasOldPod(observed)) return { remove: [], createOn: [] };
  const { surge, unavailable } = updateBounds(observed.set, observed.desired);
  return surge === 0 ? replaceInPlace(observed, unavailable, now) : surgeStep(observed, surge, now);
}

function hasOldPod({ byNode, isUpdated }: ObservedUpdate): boolean {
  for (const pods of byNode.values()) if (!pods.every(isUpdated)) return true;
  return false;
}

/** The pods of a node by template; undefined if several have the same template, because such a node is repaired first. */
function split(pods: readonly Pod[], isUpdated: (pod: Pod) => boolean): { old?: Pod; updated?: Pod } | undefined {
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const [updated, ...moreUpdated] = living.filter(isUpdated);
  const [old, ...moreOld] = living.filter((pod) => !isUpdated(pod));
  if (moreUpdated.length > 0 || moreOld.length > 0) return undefined;
  return { old, updated };
}

/**
 * Deletes old pods that are not available, without limit, and available ones up to the number that may be unavailable. The nodes get new
 * pods when the old ones are gone.
 */
function replaceInPlace({ set, byNode, isUpdated }: ObservedUpdate, bound: number, now: Instant): UpdateStep {
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const pods of byNode.values()) {
    const node = split(pods, isUpdated);
    if (node === undefined || (node.old === undefined) === (node.updated === undefined)) unavailable += 1;
    else if (node.updated !== undefined) unavailable += isAvailable(node.updated, minReadySeconds, now) ? 0 : 1;
    else if (node.old !== undefined && isAvailable(node.old, minReadySeconds, now)) candidates.push(node.old);
    else if (node.old !== undefined) {
      unavailable += 1;
      broken.push(node.old);
    }
  }
  return { remove: [...broken, ...candidates.slice(0, Math.max(0, bound - unavailable))], createOn: [] };
}

/** The state of the nodes during a surging update. */
interface Surge {
  /** Nodes with a new pod that is not available yet, or with too many pods. */
  surging: number;
  available: number;
  readonly remove: Pod[];
  /** Available old pods on nodes where the set no longer runs. */
  readonly displaced: Pod[];
  /** Nodes whose old pod is not available: a new pod there does not reduce availability. */
  readonly broken: string[];
  readonly candidates: string[];
}

/**
 * Starts new pods beside old ones: without limit where the old one is not available, otherwise up to `bound` at a time. Deletes an old pod
 * when its successor is available. Pods on nodes where the set should no longer run are deleted as soon as enough others are available.
 */
function surgeStep(observed: ObservedUpdate, bound: number, now: Instant): UpdateStep {
  const found: Surge = { surging: 0, available: 0, remove: [], displaced: [], broken: [], candidates: [] };
  for (const [nodeName, pods] of observed.byNode) lookAtSurge(observed, nodeName, pods, found, now);
  const spare = Math.max(0, found.available - observed.desired);
  const room = Math.max(0, bound - found.surging);
  return {
    remove: [...found.remove, ...found.displaced.slice(0, spare)],
    createOn: [...found.broken, ...found.candidates.slice(0, room)],
  };
}

function lookAtSurge(
  { set, placement, isUpdated }: ObservedUpdate,
  nodeName: string,
  pods: readonly Pod[],
  found: Surge,
  now: Instant,
): void {
  const node = split(pods, isUpdated);
  if (node === undefined) {
    found.surging += 1;
    return;
  }
  const { old, updated } = node;
  const isUp = (pod: Pod) => isAvailable(pod, set.spec?.minReadySeconds ?? 0, now);
  const counted = old ?? updated;
  if (counted !== undefined && isUp(counted)) found.available += 1;
  if (old === undefined) return;
  if (updated !== undefined) {
    if (isUp(updated)) found.remove.push(old);
    else found.surging += 1;
    return;
  }
  const place = placement(nodeName);
  // The pods of a deleted node are garbage collected.
  if (place === undefined) return;
  if (place !== 'run') (isUp(old) ? found.displaced : found.remove).push(old);
  else (isUp(old) ? found.candidates : found.broken).push(nodeName);
}
