import { formatKey, keyOf, MIRROR_ANNOTATION, type OwnerReference, type Pod } from '@gantry/objects';
import { HASH_ANNOTATION, isMirrorOf } from '../spec/static-pod.ts';

/** A write that updates the mirror pods of a node. */
export type MirrorAction =
  | { readonly kind: 'create'; readonly pod: Pod }
  /** Deletes the mirror, but no other pod of its name. */
  | { readonly kind: 'delete'; readonly mirror: Pod };

/**
 * The writes that give every static pod a mirror, like the kubelet's tryReconcileMirrorPods. A mirror that is being deleted, or that
 * shows an earlier content of the file, is replaced. The mirror of a pod without a file is deleted once the pod has ended; `isActive`
 * returns whether a pod has not ended yet.
 */
export function planMirrors(
  statics: readonly Pod[],
  mirrors: readonly Pod[],
  isActive: (uid: string) => boolean,
): readonly MirrorAction[] {
  const names = new Map(statics.map((pod) => [formatKey(keyOf(pod)), pod]));
  const actions: MirrorAction[] = [];
  for (const mirror of mirrors) {
    const pod = names.get(formatKey(keyOf(mirror)));
    const isRight = pod !== undefined && isMirrorOf(mirror, pod) && mirror.metadata.deletionTimestamp === undefined;
    const hash = mirror.metadata.annotations?.[HASH_ANNOTATION] ?? '';
    const shownEnds = !statics.some(({ metadata }) => metadata.uid === hash) && isActive(hash);
    if (isRight) names.delete(formatKey(keyOf(mirror)));
    else if (shownEnds) names.delete(formatKey(keyOf(mirror)));
    else actions.push({ kind: 'delete', mirror });
  }
  return [...actions, ...[...names.values()].map((pod) => ({ kind: 'create' as const, pod }))];
}

/** The mirror pod of a static pod, owned by its Node. */
export function mirrorOf({ apiVersion, kind, metadata, spec }: Pod, node: { name: string; uid: string }): Pod {
  const { name, namespace, labels, annotations } = metadata;
  const owner: OwnerReference = { apiVersion: 'v1', kind: 'Node', ...node, controller: true };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      labels,
      annotations: { ...annotations, [MIRROR_ANNOTATION]: annotations?.[HASH_ANNOTATION] ?? '' },
      ownerReferences: [owner],
    },
    spec,
  };
}
