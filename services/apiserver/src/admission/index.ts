import type { Clock, NewUid, Random } from '@gantry/base';
import type { PodSecurityExemptions } from '@gantry/kinds';
import type { ObjectLookup } from '../auth/authz/object-lookup.ts';
import type { WebhookCaller } from '../webhooks/index.ts';
import type { Access, AdmissionCheck } from './check/admission-check.ts';
import { claimResize } from './claim-resize.ts';
import { defaultIngressClass, defaultStorageClass } from './default-class.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { limitRanger } from './limit-ranger/limit-ranger.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeDeclaredFeatures } from './node-declared-features.ts';
import { nodeRestriction } from './node-restriction/node-restriction.ts';
import { podResize } from './pod-resize.ts';
import { podSecurity } from './pod-security.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { paramAccess } from './policies/param-access.ts';
import { mutatingPolicies } from './policies/mutating-policies.ts';
import { validatingPolicies } from './policies/validating-policies.ts';
import { priority } from './priority.ts';
import { resourceQuota, type QuotaCharges } from './resource-quota/resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account/service-account.ts';
import { storageObjectInUse } from './storage-object-in-use.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';
import { mutatingWebhooks } from './webhooks/mutating-webhooks.ts';
import { validatingWebhooks } from './webhooks/validating-webhooks.ts';

export type { QuotaCharges } from './resource-quota/resource-quota.ts';
export { requireActive } from './namespace-lifecycle.ts';
export {
  type Access,
  type AdmissionCheck,
  type AdmissionReader,
  type AdmissionRequest,
  type Charge,
  type ServedResources,
  Reinvocation,
  replaceContent,
} from './check/admission-check.ts';

/**
 * All admission plugins that Kubernetes enables by default, in its order. Those for certificates are in the escalation check. A new check
 * is a new file and a line here.
 */
export function createAdmissionChecks(options: {
  readonly random: Random;
  readonly clock: Clock;
  readonly newUid: NewUid;
  readonly caller: WebhookCaller;
  readonly quotaCharges: QuotaCharges;
  readonly access: Access;
  readonly lookup: ObjectLookup;
  readonly defaultTolerationSeconds: number;
  readonly podSecurityExemptions: PodSecurityExemptions;
}): readonly AdmissionCheck[] {
  return [
    paramAccess(options.access),
    namespaceLifecycle,
    limitRanger,
    serviceAccount(options.random, options.clock),
    nodeRestriction(options.lookup, options.access),
    taintNodesByCondition,
    podSecurity(options.podSecurityExemptions),
    priority,
    defaultTolerationSeconds(options.defaultTolerationSeconds),
    defaultStorageClass,
    storageObjectInUse,
    claimResize,
    runtimeClass,
    defaultIngressClass,
    podTopologyLabels,
    nodeDeclaredFeatures,
    podResize,
    mutatingPolicies(options.access),
    mutatingWebhooks(options),
    validatingPolicies(options.access),
    validatingWebhooks(options),
    resourceQuota(options.quotaCharges),
  ];
}
