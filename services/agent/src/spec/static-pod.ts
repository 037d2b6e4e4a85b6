import { formatKey, keyOf, MIRROR_ANNOTATION, type Pod } from '@gantry/objects';

/** On a static pod and its mirror: the pod's uid, which is a hash of its file. */
export const HASH_ANNOTATION = 'kubernetes.io/config.hash';
/** On a static pod and its mirror: where the pod comes from. */
export const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
/** On a static pod and its mirror: when the agent read the file. */
export const SEEN_ANNOTATION = 'kubernetes.io/config.seen';

const STATIC_UID = /^[0-9a-f]{32}$/;

/** Whether a uid is that of a pod that comes from a file: the API server's uids have dashes. */
export function isStaticUid(uid: string): boolean {
  return STATIC_UID.test(uid);
}

/** Whether a pod comes from a file of this node. */
export function isStaticPod({ metadata }: Pod): boolean {
  return isStaticUid(metadata.uid ?? '') && metadata.annotations?.[MIRROR_ANNOTATION] === undefined;
}

/** Whether an object of the API shows a pod that a node runs from a file. */
export function isMirrorPod({ metadata }: Pod): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

/** Whether a mirror shows exactly this static pod, as its file is now. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return (
    formatKey(keyOf(mirror)) === formatKey(keyOf(pod)) &&
    mirror.metadata.annotations?.[MIRROR_ANNOTATION] === pod.metadata.annotations?.[HASH_ANNOTATION]
  );
}
