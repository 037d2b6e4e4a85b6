/** Labels of Nodes, which storage classes, volumes and pods select by. */
export const ARCH_LABEL = 'kubernetes.io/arch';
export const OS_LABEL = 'kubernetes.io/os';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
export const INSTANCE_TYPE_LABEL = 'node.kubernetes.io/instance-type';
export const REGION_LABEL = 'topology.kubernetes.io/region';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Their older names, by which older clients select. */
export const BETA_ARCH_LABEL = 'beta.kubernetes.io/arch';
export const BETA_OS_LABEL = 'beta.kubernetes.io/os';
export const BETA_INSTANCE_TYPE_LABEL = 'beta.kubernetes.io/instance-type';
export const BETA_REGION_LABEL = 'failure-domain.beta.kubernetes.io/region';
export const BETA_ZONE_LABEL = 'failure-domain.beta.kubernetes.io/zone';

/** Nodes of the control plane, and the older name. */
export const CONTROL_PLANE_LABEL = 'node-role.kubernetes.io/control-plane';
export const MASTER_LABEL = 'node-role.kubernetes.io/master';

/** A Node's annotation: for how many seconds its agent may keep the Secrets and ConfigMaps that it has read. */
export const NODE_TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** Keys of the taints by which the control plane keeps pods off a Node. */
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';
export const UNREACHABLE_TAINT = 'node.kubernetes.io/unreachable';
export const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';
export const MEMORY_PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure';
export const DISK_PRESSURE_TAINT = 'node.kubernetes.io/disk-pressure';
export const PID_PRESSURE_TAINT = 'node.kubernetes.io/pid-pressure';
export const NETWORK_UNAVAILABLE_TAINT = 'node.kubernetes.io/network-unavailable';

/** Finalizers that the garbage collector removes: when no dependent blocks the deletion, when the dependents are orphaned. */
export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** Finalizers of what must not go while it is in use: PersistentVolumeClaims, PersistentVolumes, VolumeAttributesClasses. */
export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
export const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
export const ATTRIBUTES_PROTECTION = 'kubernetes.io/vac-protection';

/** The finalizer of a Job's pods until the Job has counted them. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';

/** Annotation of an IngressClass: 'true' makes it the default for objects without a class. */
export const DEFAULT_INGRESS_CLASS = 'ingressclass.kubernetes.io/is-default-class';

/** The same for a StorageClass, and its older name, which has the same effect. */
export const DEFAULT_STORAGE_CLASS = 'storageclass.kubernetes.io/is-default-class';
export const DEFAULT_STORAGE_CLASS_MARKS: readonly string[] = [
  DEFAULT_STORAGE_CLASS,
  'storageclass.beta.kubernetes.io/is-default-class',
];

/** An Ingress's annotation: its class. It is older than `ingressClassName`. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';

/** Annotation of volumes and claims with their class. Older than `storageClassName`, and takes precedence over it. */
export const STORAGE_CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** An EndpointSlice's label: the name of its Service. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** The labels of an EndpointSlice and of Endpoints: which controller writes them. */
export const SLICE_MANAGER_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const ENDPOINTS_MANAGER_LABEL = 'endpoints.kubernetes.io/managed-by';

/** The label of Endpoints: with 'true', no EndpointSlices are made from them. */
export const SKIP_MIRROR_LABEL = 'endpointslice.kubernetes.io/skip-mirror';

/** Annotation of EndpointSlices and Endpoints: the time of the last change that caused their content. */
export const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';

/** A Service's annotation: whether its endpoints get zone hints. The older name takes precedence. */
export const TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-mode';
export const OLD_TOPOLOGY_MODE_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';

/** Types of Secrets: with a token of a ServiceAccount; with credentials for registries, in either format of Docker. */
export const TOKEN_SECRET = 'kubernetes.io/service-account-token';
export const DOCKER_CONFIG_SECRET = 'kubernetes.io/dockerconfigjson';
export const OLD_DOCKER_CONFIG_SECRET = 'kubernetes.io/dockercfg';

/** A token Secret's annotation: the name of its ServiceAccount. */
export const ACCOUNT_NAME_ANNOTATION = 'kubernetes.io/service-account.name';

/** A ServiceAccount's annotation: with 'true', its pods may mount only the Secrets that it lists. */
export const MOUNTABLE_SECRETS_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';

/** A token Secret's annotation: the uid of its ServiceAccount. */
export const ACCOUNT_UID_ANNOTATION = 'kubernetes.io/service-account.uid';

/** A token Secret's label: the day on which its token was last used, `2006-01-02` in UTC. API servers write it. */
export const TOKEN_LAST_USED_LABEL = 'kubernetes.io/legacy-token-last-used';

/** A token Secret's label: the day from which its token is rejected. Written by the controller-manager; users may remove it. */
export const TOKEN_INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since';

/** The ConfigMap whose key `since` is the day from which API servers record the use of tokens in Secrets. */
export const TOKEN_TRACKING = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
} as const;

/** Signers of CertificateSigningRequests: for clients, for agents as clients, and for the servers of agents. */
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const NODE_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** The annotation of a mirror pod: the hash of the pod that its node runs from a file. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** A pod's annotation: pods with a lower cost are deleted first when their set becomes smaller. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** A pod's annotations from before there were fields. For one container: the prefix plus its name. */
export const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
export const SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
export const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';

/** The annotation in which client-side `kubectl apply` records what it applied last. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** The annotation of a CustomResourceDefinition in a group of Kubernetes: where it was approved. */
export const APPROVAL_ANNOTATION = 'api-approved.kubernetes.io';

/** The mount options of a PersistentVolume, from before there was a field. */
export const MOUNT_OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';
