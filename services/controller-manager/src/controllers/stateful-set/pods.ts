import { append, type Instant } from '@gantry/base';
import { cloneJson, hasEnded, type Pod, resolveIntOrPercent, type StatefulSet } from '@gantry/objects';
import type { PodAction } from './actions.ts';
import { claimsOf, type FindClaim, isEmpty } from './claim-changes.ts';
import { mountClaims, mountsClaims } from './claims.ts';
import type { SetHistory } from './history.ts';
import {
  hasIdentity,
  isInRange,
  labelIdentity,
  newPod,
  type OrdinalRange,
  ordinalRange,
  revisionOf,
  type TemplateRevision,
} from './identity.ts';
import { isRunningAndReady, isUnavailable } from './status.ts';

/** A pod of the set, by its ordinal. */
export interface OrdinalPod {
  readonly ordinal: number;
  readonly pod: Pod;
}

/** The input of a plan for the pods. */
interface ObservedPods {
  readonly set: StatefulSet;
  readonly history: Pick<SetHistory, 'current' | 'update'>;
  /** At most one per ordinal. */
  readonly ordinalPods: readonly OrdinalPod[];
  readonly findClaim: FindClaim;
  readonly now: Instant;
}

/** The actions on pods now, and the pods that are deleted for an update. */
interface PodsPlan {
  readonly actions: readonly PodAction[];
  readonly leaving: readonly Pod[];
}

/**
 * Whether to continue with the next pod. An ordered set waits for a pod that is not available. A parallel set takes all steps of the same
 * kind, but starts nothing else if one is `blocked`, as after a failed write.
 */
type Verdict = 'go on' | 'wait' | 'blocked';

/** The maximum number of actions per reconcile of a parallel set, as many as Kubernetes executes at a time; the rest follows. */
const MAX_ACTIONS = 500;

interface Step {
  readonly actions: readonly PodAction[];
  readonly verdict: Verdict;
}

/**
 * The next steps toward one pod per ordinal, as in Kubernetes: pods in range are created and repaired in ascending order, those out of
 * range are deleted in descending order, and then outdated ones are deleted for an update. With the policy `OrderedReady`, each step waits
 * until all previous pods are available; with `Parallel`, only an update waits.
 */
export function planPods(observed: ObservedPods): PodsPlan {
  const { set, ordinalPods, now } = observed;
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel';
  const range = ordinalRange(set);
  const byOrdinal = new Map(ordinalPods.map(({ ordinal, pod }) => [ordinal, pod]));
  const condemned = ordinalPods
    .filter(({ ordinal }) => !isInRange(ordinal, range))
    .sort((a, b) => b.ordinal - a.ordinal);

  const living = takeSteps(ordinalsIn(range), isOrdered, (ordinal) =>
    stepOfOrdinal(observed, ordinal, byOrdinal.get(ordinal)),
  );
  if (living.verdict !== 'go on') return { actions: living.actions, leaving: [] };
  const claims = condemned.flatMap((member) => claimsOfCondemned(observed, member));
  const firstUnavailable = condemned.findLast(({ pod }) => isUnavailable(pod, set, now));
  const shrinking = takeSteps(condemned, isOrdered, (member) =>
    stepOfCondemned(observed, member, isOrdered && member !== firstUnavailable),
  );
  const actions = [...living.actions, ...claims, ...shrinking.actions];
  if (shrinking.verdict !== 'go on') return { actions, leaving: [] };
  const deleted = new Set(actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod] : [])));
  // All of them were processed, so there are no more than pods.
  const slots = Array.from(ordinalsIn(range), (ordinal) => byOrdinal.get(ordinal)).map((pod) =>
    pod !== undefined && deleted.has(pod) ? undefined : pod,
  );
  const leaving = podsToUpdate(set, observed.history.update.name, slots, now);
  return { actions: [...actions, ...leaving.map((pod): PodAction => ({ kind: 'deletePod', pod }))], leaving };
}

function* ordinalsIn({ start, count }: OrdinalRange): Generator<number> {
  for (let ordinal = start; ordinal < start + count; ordinal++) yield ordinal;
}

/** Takes steps in order. An ordered set stops at the first step that does not continue; a parallel one when there are too many actions. */
function takeSteps<T>(items: Iterable<T>, isOrdered: boolean, stepOf: (item: T) => Step): Step {
  const actions: PodAction[] = [];
  let isBlocked = false;
  for (const item of items) {
    const step = stepOf(item);
    append(actions, step.actions);
    if (isOrdered && step.verdict !== 'go on') return { actions, verdict: step.verdict };
    isBlocked ||= step.verdict === 'blocked';
    if (actions.length >= MAX_ACTIONS) return { actions, verdict: 'blocked' };
  }
  return { actions, verdict: isBlocked ? 'blocked' : 'go on' };
}

function stepOfOrdinal(observed: ObservedPods, ordinal: number, pod: Pod | undefined): Step {
  if (pod === undefined) return creation(observed, ordinal);
  const isLeaving = pod.metadata.deletionTimestamp !== undefined;
  // An ended pod is replaced, whatever its exit codes.
  if (hasEnded(pod)) return { actions: isLeaving ? [] : [{ kind: 'deletePod', pod }], verdict: 'wait' };
  const isOrdered = observed.set.spec?.podManagementPolicy !== 'Parallel';
  if (pod.status?.phase === 'Pending') {
    const { changes, terminating } = claimsOf(observed.set, pod, ordinal, observed.findClaim);
    const actions: PodAction[] = isEmpty(changes) ? [] : [{ kind: 'changeClaims', pod, claims: changes }];
    if (terminating.length > 0) return { actions, verdict: 'blocked' };
    if (!isOrdered && actions.length === 0) append(actions, repairs(observed, ordinal, pod));
    return { actions, verdict: 'wait' };
  }
  const verdict = isRunningAndReady(pod) && !isUnavailable(pod, observed.set, observed.now) ? 'go on' : 'wait';
  if (isOrdered && verdict === 'wait') return { actions: [], verdict };
  return { actions: repairs(observed, ordinal, pod), verdict };
}

/** The revision for a missing pod: the current one for pods that the update has not reached or will not reach. */
function revisionFor({ set, history }: ObservedPods, ordinal: number): TemplateRevision {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  const index = ordinal - ordinalRange(set).start;
  const reached = rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
  const isCurrent = index < reached && (rollingUpdate !== undefined || type === 'RollingUpdate');
  return isCurrent ? history.current : history.update;
}

function creation(observed: ObservedPods, ordinal: number): Step {
  const { set, findClaim } = observed;
  const pod = newPod(set, revisionFor(observed, ordinal), ordinal);
  const { changes, terminating, isStale, conflicting } = claimsOf(set, pod, ordinal, findClaim);
  if (isStale) return { actions: [], verdict: 'wait' };
  if (terminating.length > 0) {
    const faults = terminating.map((name) => `pvc ${name} is being deleted`);
    const error = faults.length === 1 ? faults.join() : `[${faults.join(', ')}]`;
    const message = `Create Pod ${pod.metadata.name ?? ''} in StatefulSet ${set.metadata.name ?? ''} failed error: ${error}`;
    return { actions: [{ kind: 'report', reason: 'FailedCreate', message }], verdict: 'blocked' };
  }
  return { actions: [...conflicts(conflicting), { kind: 'createPod', pod, claims: changes }], verdict: 'wait' };
}

/** The repairs of a running pod's identity, volumes and claims. */
function repairs({ set, findClaim }: ObservedPods, ordinal: number, pod: Pod): PodAction[] {
  const { changes, conflicting } = claimsOf(set, pod, ordinal, findClaim);
  const isMounted = mountsClaims(set, pod, ordinal);
  const claims = { create: isMounted ? [] : changes.create, owners: changes.owners };
  const repaired = isMounted && hasIdentity(pod) ? undefined : repairedPod(set, pod, ordinal, isMounted);
  if (repaired === undefined && isEmpty(claims)) return [];
  return [...(claims.owners.length > 0 ? conflicts(conflicting) : []), { kind: 'repairPod', pod, repaired, claims }];
}

function repairedPod(set: StatefulSet, pod: Pod, ordinal: number, isMounted: boolean): Pod {
  const repaired = cloneJson(pod);
  if (!hasIdentity(pod)) labelIdentity(repaired, ordinal);
  if (!isMounted) mountClaims(set, repaired, ordinal);
  return repaired;
}

function claimsOfCondemned({ set, findClaim }: ObservedPods, { ordinal, pod }: OrdinalPod): PodAction[] {
  const { changes, conflicting } = claimsOf(set, pod, ordinal, findClaim);
  if (changes.owners.length === 0) return [];
  return [...conflicts(conflicting), { kind: 'changeClaims', pod, claims: { create: [], owners: changes.owners } }];
}

function conflicts(claims: readonly string[]): PodAction[] {
  return claims.map((name) => ({
    kind: 'report',
    reason: 'ConflictingController',
    message: `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`,
  }));
}

/** Deletes a pod out of range after all higher ones are gone. An unavailable pod blocks the others but is deleted itself. */
function stepOfCondemned({ set, now }: ObservedPods, { pod }: OrdinalPod, needsHealth: boolean): Step {
  if (pod.metadata.deletionTimestamp !== undefined) return { actions: [], verdict: 'wait' };
  if (needsHealth && (!isRunningAndReady(pod) || isUnavailable(pod, set, now))) return { actions: [], verdict: 'wait' };
  return { actions: [{ kind: 'deletePod', pod }], verdict: 'wait' };
}

/**
 * The outdated pods that an update deletes now, highest ordinal first, at or above the partition. `slots` are the pods in range by index,
 * undefined if missing. Without `maxUnavailable`, one pod at a time is deleted, and all pods above it must be available. With it, as many
 * as it allows, counting all unavailable pods in range.
 */
function podsToUpdate(
  set: StatefulSet,
  updateName: string,
  slots: readonly (Pod | undefined)[],
  now: Instant,
): readonly Pod[] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  const isOutdated = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined && pod.metadata.deletionTimestamp === undefined && revisionOf(pod) !== updateName;
  const isMissing = (pod: Pod | undefined) => pod === undefined || isUnavailable(pod, set, now);
  const targets = slots.slice(rollingUpdate?.partition ?? 0).reverse();
  if (rollingUpdate?.maxUnavailable === undefined) {
    const next = targets.find((pod) => isOutdated(pod) || isMissing(pod));
    return isOutdated(next) ? [next] : [];
  }
  const allowed = Math.max(1, resolveIntOrPercent(rollingUpdate.maxUnavailable, slots.length, 'down'));
  return targets.filter(isOutdated).slice(0, Math.max(0, allowed - slots.filter(isMissing).length));
}
