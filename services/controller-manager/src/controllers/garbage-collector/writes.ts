import type { KubeObject } from '@gantry/objects';
import type { Action } from './plan.ts';

/** A merge patch of an object's metadata, conditional on the version that was planned from. */
export interface MetadataPatch {
  readonly object: KubeObject;
  readonly metadata: object;
}

/** What an action changes in the metadata of the object, or of its dependent. */
export function metadataPatch(
  object: KubeObject,
  action: Exclude<Action, { kind: 'delete' | 'enqueue' }>,
): MetadataPatch {
  const { ownerReferences = [], finalizers = [] } = object.metadata;
  switch (action.kind) {
    case 'dropOwners': {
      const kept = ownerReferences.filter(({ uid }) => !action.uids.includes(uid));
      return conditional(object, { ownerReferences: kept });
    }
    case 'unblockOwners': {
      const unblocked = ownerReferences.map((reference) => ({ ...reference, blockOwnerDeletion: false }));
      return conditional(object, { ownerReferences: unblocked });
    }
    case 'orphan': {
      const { dependent } = action;
      const kept = (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== object.metadata.uid);
      return conditional(dependent, { ownerReferences: kept.length === 0 ? null : kept });
    }
    case 'removeFinalizer': {
      const kept = finalizers.filter((finalizer) => finalizer !== action.finalizer);
      return conditional(object, { finalizers: kept.length === 0 ? null : kept });
    }
  }
}

function conditional(object: KubeObject, change: object): MetadataPatch {
  const { uid, resourceVersion } = object.metadata;
  return { object, metadata: { uid, resourceVersion, ...change } };
}
