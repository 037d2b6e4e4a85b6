/**
 * Objects of the API: what every client needs, and nothing about how a server treats them. Pure, no I/O.
 *
 * `PODS: Resource<Pod>` names a resource and carries the type of its objects; caches and clients take one and give that type.
 * Parts: `generated` (types of all kinds, constants of all resources), `object` (keys, JSON), `resource-ref`, `api-version`,
 * `quantity` (and counts that may be percentages), `names` (Kubernetes' rules on names), `label-selectors`, `field-error` and `status-error`,
 * `go-json` (JSON as Go writes it),
 * `node-affinity` and `tolerations` (which nodes a pod may be on), `pod-addresses` (the parts of a pod network's range), `pod-requests`,
 * `held-resources` (what a pod holds while it is resized),
 * `hosts` (what a Node says of its host), `ipv4` (addresses and ranges as numbers), `closed-ranges` (where no endpoint may be),
 * `pods` (host ports, final phases, references to the API's objects), `volumes` (which volume belongs to which claim), `well-known`
 * (Kubernetes' names of labels, annotations, taints, finalizers, signers and types of Secrets; ours are in `hosts` and `identities`),
 * `agents-labels` (which labels an agent may set on its Node).
 *
 * The generated files are exported whole: `npm run generate` writes them from Kubernetes' published schemas.
 * Used by every workspace but `base`, `cel`, `etcd` and `proto`.
 */
export * from './generated/constants/resources.ts';
export type * from './generated/types.ts';
export { apiVersionOf, compareVersions, parseApiVersion } from './api-version.ts';
export { CLOSED_RANGES, METADATA_RANGES } from './closed-ranges.ts';
export {
  type FieldError,
  type FieldErrorType,
  OMITTED,
  duplicate,
  forbidden,
  formatFieldError,
  invalid,
  notSupported,
  oneOf,
  repeatedAt,
  required,
  tooLong,
} from './field-error.ts';
export { goJson } from './go-json.ts';
export {
  defaultClusterCidr,
  CONTAINERS_STOPPED,
  DRAINING_ANNOTATION,
  RETURNS_BY_ANNOTATION,
  ENGINE_LABEL,
  FORWARDED_FROM_ANNOTATION,
  HOST_ADDRESS_ANNOTATION,
} from './hosts.ts';
export {
  ADMINISTRATORS,
  API_SERVERS,
  ENGINE_EXTRA,
  ENGINE_UNIT,
  FIXED_SERVICES,
  LEASE_TTL_ANNOTATION,
  REPORT_PORT,
  NODE_USER_PREFIX,
  NODES_GROUP,
  SERVICE_SIGNER,
  UNLIMITED_GROUPS,
} from './identities.ts';
export { parseLabelSelector } from './label-selectors/parse-label-selector.ts';
export { type LabelOperator, type LabelRequirement, Selector, labelSelectorFrom } from './label-selectors/selector.ts';
export {
  cIdentifier,
  configKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  envVarName,
  httpHeaderName,
  labelName,
  labelValue,
  longName,
  pathSegment,
  patternMessage,
  percent,
  portName,
  portNumber,
  qualifiedName,
  subdomainName,
  userId,
  wildcardSubdomain,
} from './names.ts';
export {
  type AddressRange,
  formatIpv4,
  isWithin,
  ownServiceAddresses,
  parseIpv4,
  parseIpv4Range,
} from './ipv4.ts';
export { matchesNodeAffinity, nodePreference, reachesVolume, requiredNodeNames } from './node-affinity.ts';
export {
  type Json,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  cloneJson,
  equalJson,
  formatKey,
  keyOf,
  memberOf,
  parseKey,
  setMember,
} from './object.ts';
export { controllerOf, controllerReference } from './owner-references.ts';
export {
  containerAddressOf,
  gatewayOf,
  hostIpRefusal,
  nodeAddressOf,
  type PodAddresses,
  podAddresses,
} from './pod-addresses.ts';
export {
  type Quantity,
  QuantityError,
  type QuantityFormat,
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  quantityMilli,
  quantityValue,
  resolveIntOrPercent,
  subtractQuantity,
} from './quantity.ts';
export { type Resource, type ResourceRef } from './resource-ref.ts';
export { CLUSTER_TRUST_BUNDLES, type ClusterTrustBundle } from './trust-bundles.ts';
export { type HostPort, hostPortsClash, hostPortsOf, lastingContainers, sidecarNames } from './pods/host-ports.ts';
export { apiReferenceOf } from './pods/api-references.ts';
export { secretsOfPod } from './pods/secrets-of-pod.ts';
export { containerStatusOf, disruptionTarget, hasEnded, isFinalPhase, lastRunOf } from './pods/pod-status.ts';
export { hasRestartOfAll, matchingRestartRule, restartsAfterExit, restartsAll } from './pods/restart-rules.ts';
export { withHeldResources } from './held-resources.ts';
export { containerAmounts, podAmounts, podAmountsWithOverhead } from './pod-amounts.ts';
export {
  isPodLevelResource,
  type Amounts,
  NO_AMOUNTS,
  addAmounts,
  parseAmounts,
  podLimits,
  podRequests,
  resourcesOfPod,
  subtractAmounts,
} from './pod-requests.ts';
export {
  type GroupResource,
  STATUS_CODES,
  StatusError,
  type StatusReason,
  isLeadershipEnded,
  isReason,
} from './status-error.ts';
export { type TaintEffect, findUntoleratedTaint, isTolerated, toleratesTaint } from './tolerations.ts';
export {
  isForDeletionOn,
  isInVolumesFolder,
  LOCAL_PATH,
  localFolderOf,
  localPathOf,
  VOLUME_NODE_LABEL,
} from './volumes/local-path.ts';
export { findVolume, findVolumeForNode, hasSameMode, whyUnsatisfied } from './volumes/match-volume.ts';
export {
  BETA_STORAGE_PROVISIONER,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  classOfClaim,
  classOfVolume,
  claimsOfPod,
  isOfStatefulSet,
  isBoundToClaim,
  isFullyBound,
  NO_PROVISIONER,
  PROVISIONED_BY,
  requestedClassOf,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  waitsForConsumer,
} from './volumes/volume-binding.ts';
export { isAgentsLabel } from './agents-labels.ts';
export {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
  APPROVAL_ANNOTATION,
  APP_ARMOR_PREFIX,
  ARCH_LABEL,
  ATTRIBUTES_PROTECTION,
  BETA_ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  BETA_OS_LABEL,
  BETA_REGION_LABEL,
  BETA_ZONE_LABEL,
  CLAIM_PROTECTION,
  CLIENT_SIGNER,
  CONTROL_PLANE_LABEL,
  DEFAULT_INGRESS_CLASS,
  DEFAULT_STORAGE_CLASS,
  DEFAULT_STORAGE_CLASS_MARKS,
  DELETION_COST_ANNOTATION,
  DISK_PRESSURE_TAINT,
  DOCKER_CONFIG_SECRET,
  ENDPOINTS_MANAGER_LABEL,
  FOREGROUND_FINALIZER,
  HOSTNAME_LABEL,
  INGRESS_CLASS_ANNOTATION,
  INSTANCE_TYPE_LABEL,
  LAST_APPLIED_ANNOTATION,
  MASTER_LABEL,
  MEMORY_PRESSURE_TAINT,
  MIRROR_ANNOTATION,
  MOUNTABLE_SECRETS_ANNOTATION,
  MOUNT_OPTIONS_ANNOTATION,
  NETWORK_UNAVAILABLE_TAINT,
  NODE_CLIENT_SIGNER,
  NODE_TTL_ANNOTATION,
  NOT_READY_TAINT,
  OLD_DOCKER_CONFIG_SECRET,
  OLD_TOPOLOGY_MODE_ANNOTATION,
  ORPHAN_FINALIZER,
  OS_LABEL,
  PID_PRESSURE_TAINT,
  REGION_LABEL,
  SECCOMP_ANNOTATION,
  SECCOMP_PREFIX,
  SERVICE_NAME_LABEL,
  SERVING_SIGNER,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGER_LABEL,
  STORAGE_CLASS_ANNOTATION,
  TOKEN_INVALID_SINCE_LABEL,
  TOKEN_LAST_USED_LABEL,
  TOKEN_SECRET,
  TOKEN_TRACKING,
  TOPOLOGY_MODE_ANNOTATION,
  TRACKING_FINALIZER,
  TRIGGER_TIME_ANNOTATION,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
  VOLUME_PROTECTION,
  ZONE_LABEL,
} from './well-known.ts';
