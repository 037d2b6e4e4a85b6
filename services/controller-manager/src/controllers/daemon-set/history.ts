import type { ControllerRevision, DaemonSet, Pod } from '@gantry/objects';
import {
  excessRevisions,
  findPresent,
  isRevisionOf,
  newRevision,
  sortRevisions,
} from '../../libraries/revisions/revision.ts';
import { HASH_LABEL } from './placement.ts';

/** An action on the history of a set. Each action assumes that the previous ones have been executed. */
export type HistoryAction =
  | { readonly kind: 'createRevision'; readonly revision: ControllerRevision }
  | { readonly kind: 'renumberRevision'; readonly revision: ControllerRevision; readonly number: number }
  | { readonly kind: 'labelRevision'; readonly revision: ControllerRevision; readonly hash: string }
  | { readonly kind: 'relabelPod'; readonly pod: Pod; readonly hash: string }
  | { readonly kind: 'deleteRevision'; readonly revision: ControllerRevision };

/** The history of a set, and its effect on the pods. */
export interface History {
  readonly actions: readonly HistoryAction[];
  /** The hash of the current revision, which new pods get as a label. */
  readonly hash: string;
  /** The pods as they are after the actions. */
  readonly pods: readonly Pod[];
  /** Revisions of other templates. */
  readonly others: readonly ControllerRevision[];
}

/**
 * Makes the current template the newest revision, without duplicates. The revision is created, or renumbered if the template returns.
 * Duplicates are deleted after their pods have got its hash. A revision without the hash label gets its name as hash.
 */
export function orderHistory(set: DaemonSet, revisions: readonly ControllerRevision[], pods: readonly Pod[]): History {
  const template = set.spec?.template ?? {};
  const { revision, number, duplicates, others } = findPresent(revisions, (one) => isRevisionOf(one, template));
  const actions: HistoryAction[] = sortRevisions(revisions)
    .filter(({ metadata }) => metadata.labels?.[HASH_LABEL] === undefined)
    .map((one) => ({ kind: 'labelRevision', revision: one, hash: hashOf(one) }));
  if (revision === undefined) {
    const { collisionCount } = set.status ?? {};
    const created = newRevision({ owner: set, template, number, collisionCount, hashLabel: HASH_LABEL });
    return {
      actions: [...actions, { kind: 'createRevision', revision: created }],
      hash: hashOf(created),
      pods,
      others,
    };
  }
  const hash = hashOf(revision);
  if (revision.revision !== number) actions.push({ kind: 'renumberRevision', revision, number });
  if (duplicates.length === 0) return { actions, hash, pods, others };
  const relabelled = pods.filter(({ metadata }) =>
    duplicates.some((one) => hashOf(one) === metadata.labels?.[HASH_LABEL]),
  );
  for (const pod of relabelled) actions.push({ kind: 'relabelPod', pod, hash });
  for (const one of duplicates) actions.push({ kind: 'deleteRevision', revision: one });
  return { actions, hash, pods: pods.map((pod) => (relabelled.includes(pod) ? withHash(pod, hash) : pod)), others };
}

/** Revisions beyond the limit that no pod uses, oldest first. Finished pods count as using a revision. */
export function expiredRevisions(
  set: DaemonSet,
  others: readonly ControllerRevision[],
  pods: readonly Pod[],
): readonly ControllerRevision[] {
  const live = new Set(pods.map(({ metadata }) => metadata.labels?.[HASH_LABEL]));
  const limit = set.spec?.revisionHistoryLimit ?? 10;
  return excessRevisions(others, { limit, isLive: (one) => live.has(hashOf(one)), counted: 'all' });
}

function hashOf({ metadata }: ControllerRevision): string {
  return metadata.labels?.[HASH_LABEL] ?? metadata.name ?? '';
}

function withHash(pod: Pod, hash: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [HASH_LABEL]: hash } } };
}
