/** The annotation of a mirror pod: the hash of the pod that its node runs from a file. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** A pod's annotation: pods with a lower cost are deleted first when their set becomes smaller. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** The annotations of a pod from before there were fields. That of one container is the prefix and the container's name. */
export const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
export const SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
export const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';

/** The annotation by which `kubectl apply` from the client knows what it applied last. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** The annotation of a CustomResourceDefinition in a group of Kubernetes: where it was approved. */
export const APPROVAL_ANNOTATION = 'api-approved.kubernetes.io';

/** The mount options of a PersistentVolume, from before there was a field. */
export const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';
