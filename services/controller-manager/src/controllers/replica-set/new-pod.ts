import { cloneJson, type Pod, type ReplicaSet } from '@gantry/objects';
import { controllerReference } from '../ownership.ts';

/** A pod of the set's template, which the set controls. */
export function newPod(set: ReplicaSet): Pod {
  const { metadata = {}, spec } = cloneJson(set.spec?.template ?? {});
  const { labels, annotations, finalizers } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${set.metadata.name ?? ''}-`,
      namespace: set.metadata.namespace ?? '',
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(set)],
    },
    ...(spec === undefined ? {} : { spec }),
  };
}
