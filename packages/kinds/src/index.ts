/**
 * The built-in kinds: defaults, validation, columns, subresources. Pure, no I/O.
 *
 * `resources` lists the definitions in discovery's order; `findResource` and `findKind` look one up. A kind is a file in the
 * folder of its group, and a line in the group's `index.ts`; docs/extending.md has an example.
 * Shared rules: `pod-spec` (pods and their templates), `workloads`, `fields` (addresses, conditions, bounded lists),
 * `go-printing` (values as Kubernetes prints them in messages). `pod-security` has the Pod Security Standards.
 *
 * Used by the API server, by the controller manager (quota, policy types) and by the fake of the client.
 */
export {
  CUSTOM_RESOURCE_CLEANUP,
  approvalOf,
  definitionCondition,
  setDefinitionCondition,
} from './apiextensions/custom-resource-definition.ts';
export {
  NO_POD_SECURITY_EXEMPTIONS,
  type PodSecurityExemptions,
  exemptNamespaceWarning,
} from './pod-security/exemptions.ts';
export {
  type LevelVersion,
  formatLevel,
  formatViolations,
  isPrivileged,
  podSecurityOf,
  podSecurityViolations,
  strictness,
} from './pod-security/pod-security-policy.ts';
export { SYSTEM_PRIORITIES } from './scheduling/priority-class.ts';
export { type Amounts, addAmounts, compareAmounts } from './fields/quota.ts';
export { type CronSchedule, parseCronSchedule } from './batch/cron-schedule.ts';
export { lastCronTime, nextCronTime } from './batch/cron-times.ts';
export { formatZonedTime, timeZone, timeZoneFault } from './batch/time-zone.ts';
export { isTerminating } from './core/pod/quota.ts';
export { attributesClassesOf } from './core/volumes/claim-quota.ts';
export {
  countedResource,
  growthOf,
  limitedNames,
  maskAmounts,
  quotaMatches,
  quotaUsage,
  totalUsage,
} from './quota-usage.ts';
export { canonicalIp, type IpFamily } from './fields/ip.ts';
export { findKind, findResource, optionalResources, resources } from './registry.ts';
export { metricsKinds } from './metrics/index.ts';
export { NODE_METRICS, type NodeMetrics, POD_METRICS, type PodMetrics } from './metrics/usage-metrics.ts';
export {
  FLOW_AUTO_UPDATE,
  MANDATORY_FLOW_SCHEMAS,
  MANDATORY_PRIORITY_LEVELS,
  SUGGESTED_FLOW_SCHEMAS,
  SUGGESTED_PRIORITY_LEVELS,
} from './flowcontrol/built-in-objects.ts';
export { checkPolicyTypes } from './check-policy-types.ts';
