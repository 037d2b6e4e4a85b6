/** Finalizers that the garbage collector removes: when no dependent blocks the deletion, when the dependents are orphaned. */
export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** Finalizers of what must not go while it is in use: PersistentVolumeClaims, PersistentVolumes, VolumeAttributesClasses. */
export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
export const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
export const ATTRIBUTES_PROTECTION = 'kubernetes.io/vac-protection';

/** The finalizer of a Job's pods until the Job has counted them. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
