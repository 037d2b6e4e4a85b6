import type { ControllerRevision } from '@gantry/objects';
import { sortRevisions } from './revision.ts';

/** Where the present template stands in the history. */
export interface PresentRevision {
  /** The newest revision of the template; undefined when it is to be created. */
  readonly revision: ControllerRevision | undefined;
  /** The number that it has, or has to get: a template that comes back becomes the newest again. */
  readonly number: number;
  /** Further revisions of the same template. */
  readonly duplicates: readonly ControllerRevision[];
  /** Revisions of other templates, oldest first. */
  readonly others: readonly ControllerRevision[];
}

/** Finds the present template in the history of its owner. `isPresent` says whether a revision brings it back. */
export function findPresent(
  revisions: readonly ControllerRevision[],
  isPresent: (revision: ControllerRevision) => boolean,
): PresentRevision {
  const sorted = sortRevisions(revisions);
  const equal = sorted.filter(isPresent);
  const others = sorted.filter((revision) => !equal.includes(revision));
  const revision = equal.at(-1);
  const number = Math.max((others.at(-1)?.revision ?? 0) + 1, revision?.revision ?? 0);
  return { revision, number, duplicates: equal.slice(0, -1), others };
}

/** How much history is kept. */
export interface HistoryBounds {
  /** `spec.revisionHistoryLimit`; below zero all are kept. */
  readonly limit: number;
  /** A live revision, one that a pod or the status names, is never deleted. */
  readonly isLive: (revision: ControllerRevision) => boolean;
  /** Whether live revisions count towards the limit: those of a DaemonSet do, those of a StatefulSet do not. */
  readonly counted: 'all' | 'not live';
}

/** The revisions to delete, oldest first. */
export function excessRevisions(
  revisions: readonly ControllerRevision[],
  { limit, isLive, counted }: HistoryBounds,
): readonly ControllerRevision[] {
  if (limit < 0) return [];
  const unused = sortRevisions(revisions).filter((revision) => !isLive(revision));
  const count = counted === 'all' ? revisions.length : unused.length;
  return unused.slice(0, Math.max(0, count - limit));
}
