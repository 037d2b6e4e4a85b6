import type { Instant, Plan } from '@gantry/base';
import type { ControllerRevision, Pod, StatefulSet } from '@gantry/objects';
import { type Ownership, claimObjects, selectorOf } from '../../libraries/ownership.ts';
import { nextAvailability } from '../../libraries/pods/pod-state.ts';
import { excessRevisions } from '../../libraries/revisions/revision.ts';
import type { Action } from './actions.ts';
import type { FindClaim } from './claim-changes.ts';
import { historyOf, type SetHistory } from './history.ts';
import { ordinalOf, revisionOf } from './identity.ts';
import { type OrdinalPod, planPods } from './pods.ts';
import { differs, statefulSetStatus } from './status.ts';

/** The input of the plan: the set, and the pods and revisions of its namespace that it controls or may adopt. */
export interface ObservedStatefulSet {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly findClaim: FindClaim;
}

/**
 * Actions that move the observed pods one step toward the set's spec, in the order of execution. Adoptions come first: an object must be
 * visible as the set's before it is changed. A pod of an ordinal is created only if no pod with its name is observed. So at most one
 * exists, because the name is unique in the store.
 */
export function planStatefulSet(observed: ObservedStatefulSet, now: Instant): Plan<Action> {
  const { set } = observed;
  const ownership = ownedPods(observed);
  const requeueAt = nextAvailability(ownership.owned, set.spec?.minReadySeconds ?? 0, now);
  const release = ownership.release.map((pod): Action => ({ kind: 'releasePod', pod }));
  if (set.metadata.deletionTimestamp !== undefined) return { actions: planStatus(observed, now), requeueAt };
  const history = historyOf(set, observed.revisions);
  const adoptions: Action[] = [
    ...history.ownership.adopt.map((revision): Action => ({ kind: 'adoptRevision', revision })),
    ...ownership.adopt.map((pod): Action => ({ kind: 'adoptPod', pod })),
  ];
  if (adoptions.length > 0) return { actions: [...adoptions, ...release] };
  const { actions, leaving } = planPods({
    set,
    history,
    ordinalPods: ownership.owned.flatMap((pod): OrdinalPod[] => {
      const ordinal = ordinalOf(set, pod);
      return ordinal === undefined ? [] : [{ ordinal, pod }];
    }),
    findClaim: observed.findClaim,
    now,
  });
  return {
    actions: [
      ...release,
      ...revisionActions(history),
      ...actions,
      ...statusActions(set, history, ownership.owned, leaving, now),
      ...truncation(set, history, ownership.owned),
    ],
    requeueAt,
  };
}

/** Only the status, from the pods as observed: after a failure to change them, and for a set that is being deleted. */
export function planStatus(observed: ObservedStatefulSet, now: Instant): readonly Action[] {
  const { set } = observed;
  const history = historyOf(set, observed.revisions);
  return statusActions(set, history, ownedPods(observed).owned, [], now);
}

/** The pods with names of the set: controlled ones, those to adopt and those to release. */
function ownedPods({ set, pods }: ObservedStatefulSet): Ownership<Pod> {
  const selector = selectorOf(set);
  const named = pods.filter((pod) => ordinalOf(set, pod) !== undefined);
  const others = pods.filter((pod) => ordinalOf(set, pod) === undefined);
  const ownership = claimObjects(set, named, (labels) => selector.matches(labels));
  const { release } = claimObjects(set, others, () => false);
  return { ...ownership, release: [...ownership.release, ...release] };
}

function revisionActions({ create, renumber }: SetHistory): Action[] {
  return [
    ...(create === undefined ? [] : [{ kind: 'createRevision', revision: create } as const]),
    ...(renumber === undefined ? [] : [{ kind: 'renumberRevision', ...renumber } as const]),
  ];
}

function statusActions(
  set: StatefulSet,
  history: SetHistory,
  pods: readonly Pod[],
  leaving: readonly Pod[],
  now: Instant,
): Action[] {
  const status = statefulSetStatus(set, history, pods, leaving, now);
  return differs(set, status) ? [{ kind: 'updateStatus', status }] : [];
}

/** Old revisions beyond `revisionHistoryLimit`. Revisions in the status and of pods are kept. */
function truncation(set: StatefulSet, history: SetHistory, pods: readonly Pod[]): Action[] {
  const live = new Set([history.current.name, history.update.name, ...pods.map(revisionOf)]);
  const isLive = ({ metadata }: ControllerRevision) => live.has(metadata.name);
  const limit = set.spec?.revisionHistoryLimit ?? 10;
  return excessRevisions(history.ownership.owned, { limit, isLive, counted: 'not live' }).map((revision) => ({
    kind: 'deleteRevision',
    revision,
  }));
}
