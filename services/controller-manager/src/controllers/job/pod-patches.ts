import { type Job, type Pod, TRACKING_FINALIZER } from '@gantry/objects';
import { adoptionPatch, releasePatch } from '../ownership.ts';

const REMOVAL = { '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] };

/** A strategic merge patch that takes the Job's finalizer off a pod; the uid guards against a namesake. */
export function finalizerRemovalPatch({ metadata }: Pod): object {
  return { metadata: { uid: metadata.uid, ...REMOVAL } };
}

/** Makes a Job the controller of a pod that it will count. */
export function jobAdoptionPatch(pod: Pod, job: Job): object {
  return withMetadata(adoptionPatch(pod, job), { finalizers: [TRACKING_FINALIZER] });
}

/** Takes a Job off the owners of a pod that it will not count. */
export function jobReleasePatch(pod: Pod, job: Job): object {
  return withMetadata(releasePatch(pod, job), REMOVAL);
}

function withMetadata(patch: { readonly metadata?: object }, more: object): object {
  return { metadata: { ...patch.metadata, ...more } };
}
