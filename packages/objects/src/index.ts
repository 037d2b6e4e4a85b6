/**
 * Objects of the API: what every client needs, and nothing about how a server treats them. Pure, no I/O.
 *
 * `PODS: Resource<Pod>` names a resource and carries the type of its objects; caches and clients take one and give that type.
 * Parts: `generated` (types of all kinds, constants of all resources), `object` (keys, JSON), `resource-ref`, `api-version`,
 * `quantity`, `int-or-string`, `names` (Kubernetes' rules on names), `label-selectors`, `field-error` and `status-error`, `go-json` (JSON as Go writes it),
 * `node-affinity` and `tolerations` (which nodes a pod may be on), `pod-addresses` (the parts of a pod network's range), `pod-requests`,
 * `held-resources` (what a pod holds while it is resized),
 * `hosts` (what a Node says of its host), `ipv4` (addresses and ranges as numbers), `closed-ranges` (where no endpoint may be),
 * `pods` (host ports, final phases, references to the API's objects), `volumes` (which volume belongs to which claim), `well-known`
 * (Kubernetes' names of labels, annotations, taints, finalizers, signers and types of Secrets, and which labels an agent may set on its
 * Node; ours are in `hosts` and `identities`).
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
  DRAINING_ANNOTATION,
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
  NODE_USER_PREFIX,
  NODES_GROUP,
  SERVICE_SIGNER,
  UNLIMITED_GROUPS,
} from './identities.ts';
export { resolveIntOrPercent } from './int-or-string.ts';
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
export { matchesNodeAffinity, reachesVolume, requiredNodeNames } from './node-affinity.ts';
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
export { containerAddressOf, hostIpRefusal, nodeAddressOf, type PodAddresses, podAddresses } from './pod-addresses.ts';
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
  subtractQuantity,
} from './quantity.ts';
export { type Resource, type ResourceRef } from './resource-ref.ts';
export { CLUSTER_TRUST_BUNDLES, type ClusterTrustBundle } from './trust-bundles.ts';
export { disruptionTarget } from './pods/disruption-target.ts';
export { type HostPort, hostPortsClash, hostPortsOf, lastingContainers, sidecarNames } from './pods/host-ports.ts';
export { apiReferenceOf } from './pods/api-references.ts';
export { secretsOfPod } from './pods/secrets-of-pod.ts';
export { containerStatusOf, lastRunOf } from './pods/last-run.ts';
export { hasEnded, isFinalPhase } from './pods/pod-phase.ts';
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
export { type GroupResource, STATUS_CODES, StatusError, type StatusReason, isReason } from './status-error.ts';
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
  isBoundToClaim,
  isFullyBound,
  NO_PROVISIONER,
  PROVISIONED_BY,
  requestedClassOf,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  waitsForConsumer,
} from './volumes/volume-binding.ts';
export {
  APPROVAL_ANNOTATION,
  APP_ARMOR_PREFIX,
  DELETION_COST_ANNOTATION,
  LAST_APPLIED_ANNOTATION,
  MIRROR_ANNOTATION,
  MOUNT_OPTIONS_ANNOTATION,
  SECCOMP_ANNOTATION,
  SECCOMP_PREFIX,
} from './well-known/annotations.ts';
export {
  DEFAULT_INGRESS_CLASS,
  DEFAULT_STORAGE_CLASS,
  DEFAULT_STORAGE_CLASS_MARKS,
  INGRESS_CLASS_ANNOTATION,
  STORAGE_CLASS_ANNOTATION,
} from './well-known/classes.ts';
export {
  ENDPOINTS_MANAGER_LABEL,
  OLD_TOPOLOGY_MODE_ANNOTATION,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGER_LABEL,
  TOPOLOGY_MODE_ANNOTATION,
  TRIGGER_TIME_ANNOTATION,
} from './well-known/endpoints.ts';
export {
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  FOREGROUND_FINALIZER,
  ORPHAN_FINALIZER,
  TRACKING_FINALIZER,
  VOLUME_PROTECTION,
} from './well-known/finalizers.ts';
export { isAgentsLabel } from './well-known/agents-labels.ts';
export {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  BETA_OS_LABEL,
  BETA_REGION_LABEL,
  BETA_ZONE_LABEL,
  CONTROL_PLANE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  MASTER_LABEL,
  NODE_TTL_ANNOTATION,
  OS_LABEL,
  REGION_LABEL,
  ZONE_LABEL,
} from './well-known/node-labels.ts';
export {
  DISK_PRESSURE_TAINT,
  MEMORY_PRESSURE_TAINT,
  NETWORK_UNAVAILABLE_TAINT,
  NOT_READY_TAINT,
  PID_PRESSURE_TAINT,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
} from './well-known/node-taints.ts';
export {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
  DOCKER_CONFIG_SECRET,
  MOUNTABLE_SECRETS_ANNOTATION,
  OLD_DOCKER_CONFIG_SECRET,
  TOKEN_INVALID_SINCE_LABEL,
  TOKEN_LAST_USED_LABEL,
  TOKEN_SECRET,
  TOKEN_TRACKING,
} from './well-known/secrets.ts';
export { CLIENT_SIGNER, NODE_CLIENT_SIGNER, SERVING_SIGNER } from './well-known/signers.ts';
