import { formatKey, keyOf, MIRROR_ANNOTATION, type Pod } from '@gantry/objects';

/** On a static pod and its mirror: the pod's uid, which is a hash of its file. */
export const HASH_ANNOTATION = 'kubernetes.io/config.hash';
/** On a static pod and its mirror: where the pod comes from. */
export const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
/** On a static pod and its mirror: when the agent read the file. */
export const SEEN_ANNOTATION = 'kubernetes.io/config.seen';

const STATIC_UID = /^[0-9a-f]{32}$/;

/** Whether a uid belongs to a static pod. Unlike uids of the API server, it has no dashes. */
export function isStaticUid(uid: string): boolean {
  return STATIC_UID.test(uid);
}

/** Whether a pod comes from a file of this node. */
export function isStaticPod({ metadata }: Pod): boolean {
  return isStaticUid(metadata.uid ?? '') && metadata.annotations?.[MIRROR_ANNOTATION] === undefined;
}

/** Whether an object of the API is a mirror pod of a static pod. */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

/** Whether a mirror pod matches this static pod with its current file. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return (
    formatKey(keyOf(mirror)) === formatKey(keyOf(pod)) &&
    mirror.metadata.annotations?.[MIRROR_ANNOTATION] === pod.metadata.annotations?.[HASH_ANNOTATION]
  );
}
