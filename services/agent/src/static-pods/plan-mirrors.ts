import { formatKey, keyOf, MIRROR_ANNOTATION, type OwnerReference, type Pod } from '@gantry/objects';
import { HASH_ANNOTATION, isMirrorOf } from '../spec/static-pod.ts';

/** One write that makes the API show the static pods of a node. */
export type MirrorAction =
  | { readonly kind: 'create'; readonly pod: Pod }
  /** The mirror, and no other pod of its name. */
  | { readonly kind: 'delete'; readonly mirror: Pod };

/**
 * The writes by which every static pod gets a mirror (kubelet's tryReconcileMirrorPods): one that is being deleted, or that shows an
 * earlier file, makes room for the next. One of a pod without a file goes when the pod has ended: `isActive` says of a uid whether
 * it has not.
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

/** The object that shows a static pod, owned by its Node. */
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
