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
