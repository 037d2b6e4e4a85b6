import { findResource } from '@gantry/kinds';
import { cloneJson, type ControllerRevision, equalJson, STATEFUL_SETS, type StatefulSet } from '@gantry/objects';
import { type Ownership, claimObjects, selectorOf } from '../../libraries/ownership.ts';
import {
  findPresent,
  isRevisionOf,
  newRevision,
  sortRevisions,
  STATEFUL_SET_HASH,
  templateOf,
} from '../../libraries/revisions/revision.ts';
import type { TemplateRevision } from './identity.ts';

/** The two revisions from which a set's pods are created, and the missing changes of its history. */
export interface SetHistory {
  readonly ownership: Ownership<ControllerRevision>;
  /** The revision that a rolling update started from. */
  readonly current: TemplateRevision;
  /** The revision of the set's template. */
  readonly update: TemplateRevision;
  /** The revision of the template if it must be created. */
  readonly create: ControllerRevision | undefined;
  /** A past revision with the template, which becomes the newest again. */
  readonly renumber: { readonly revision: ControllerRevision; readonly number: number } | undefined;
}

/**
 * The history of a set from the revisions that it controls or may adopt. The update revision is the one with the set's template as written;
 * or the newest one if its template is equal after defaulting, so that a new default in a release starts no rollout.
 */
export function historyOf(set: StatefulSet, candidates: readonly ControllerRevision[]): SetHistory {
  const selector = selectorOf(set);
  const ownership = claimObjects(set, candidates, (labels) => selector.matches(labels));
  const revisions = sortRevisions([...ownership.owned, ...ownership.adopt]);
  const template = set.spec?.template ?? {};
  const found = findPresent(revisions, (revision) => isRevisionOf(revision, template));
  const newest = revisions.at(-1);
  const present = found.revision ?? (newest !== undefined && isDefaulted(set, newest) ? newest : undefined);
  // A set that is being deleted gets no new revision.
  const isLeaving = set.metadata.deletionTimestamp !== undefined;
  const create = present === undefined && !isLeaving ? revisionToCreate(set, found.number) : undefined;
  const update = { name: (present ?? create)?.metadata.name ?? set.status?.updateRevision ?? '', template };
  const current = revisions.find(({ metadata }) => metadata.name === set.status?.currentRevision);
  return {
    ownership,
    update,
    current: current === undefined || current.metadata.name === update.name ? update : templateRevision(current),
    create,
    renumber:
      found.revision !== undefined && found.revision.revision < found.number
        ? { revision: found.revision, number: found.number }
        : undefined,
  };
}

function revisionToCreate(set: StatefulSet, number: number): ControllerRevision {
  return newRevision({
    owner: set,
    template: set.spec?.template ?? {},
    number,
    collisionCount: set.status?.collisionCount ?? 0,
    hashLabel: STATEFUL_SET_HASH,
  });
}

function templateRevision(revision: ControllerRevision): TemplateRevision {
  return { name: revision.metadata.name ?? '', template: templateOf(revision) };
}

/** Whether a revision's template equals the set's after today's defaults are applied to it. */
function isDefaulted(set: StatefulSet, revision: ControllerRevision): boolean {
  const template = templateOf(revision);
  if (template === undefined || set.spec === undefined) return false;
  const restored = cloneJson({ ...set, spec: { ...set.spec, template } });
  findResource(STATEFUL_SETS)?.strategy?.applyDefaults?.(restored);
  return equalJson(restored.spec?.template, set.spec.template);
}
