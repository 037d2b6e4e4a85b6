import { givenEmptyAt } from '../decode/given-empty.ts';
import type { FieldError } from '../field-error.ts';
import type { KubeObject } from '../object.ts';
import type { ResourceDefinition, ResourceRef, Strategy, SubresourceDefinition } from '../resource.ts';
import { bindings } from './binding.ts';
import { componentStatuses } from './componentstatus.ts';
import { certificateSigningRequests } from './certificatesigningrequest.ts';
import { configMaps } from './configmap.ts';
import { controllerRevisions } from './controllerrevision.ts';
import { cronJobs } from './cronjob.ts';
import { customResourceDefinitions } from './customresourcedefinition.ts';
import { daemonSets } from './daemonset.ts';
import { csiDrivers } from './csidriver.ts';
import { csiNodes } from './csinode.ts';
import { csiStorageCapacities } from './csistoragecapacity.ts';
import { endpoints } from './endpoints.ts';
import { endpointSlices } from './endpointslice.ts';
import { eventsEvents } from './events-event.ts';
import { ingresses } from './ingress.ts';
import { ingressClasses } from './ingressclass.ts';
import { ipAddresses } from './ipaddress.ts';
import { limitRanges } from './limitrange.ts';
import { networkPolicies } from './networkpolicy.ts';
import { persistentVolumes } from './persistentvolume.ts';
import { persistentVolumeClaims } from './persistentvolumeclaim.ts';
import { resourceQuotas } from './resourcequota.ts';
import { serviceCidrs } from './servicecidr.ts';
import { storageClasses } from './storageclass.ts';
import { volumeAttachments } from './volumeattachment.ts';
import { volumeAttributesClasses } from './volumeattributesclass.ts';
import { deployments } from './deployment.ts';
import { events } from './event.ts';
import { horizontalPodAutoscalers } from './horizontalpodautoscaler.ts';
import { horizontalPodAutoscalersV1 } from './horizontalpodautoscaler-v1.ts';
import { jobs } from './job.ts';
import { leases } from './lease.ts';
import { mutatingAdmissionPolicies } from './mutatingadmissionpolicy.ts';
import { mutatingAdmissionPolicyBindings } from './mutatingadmissionpolicybinding.ts';
import { mutatingWebhookConfigurations } from './mutatingwebhookconfiguration.ts';
import { namespaces } from './namespace.ts';
import { nodes } from './node.ts';
import { pods } from './pod.ts';
import { podDisruptionBudgets } from './poddisruptionbudget.ts';
import { podTemplates } from './podtemplate.ts';
import { replicaSets } from './replicaset.ts';
import { replicationControllers } from './replicationcontroller.ts';
import { pathSegment, subdomainName } from './rules/names.ts';
import { kubernetesFinalizers, validateObjectMeta, validateObjectMetaUpdate } from './rules/object-meta.ts';
import { secrets } from './secret.ts';
import { selfSubjectReviews } from './selfsubjectreview.ts';
import { services } from './service.ts';
import { serviceAccounts } from './serviceaccount.ts';
import { statefulSets } from './statefulset.ts';
import { validatingAdmissionPolicies } from './validatingadmissionpolicy.ts';
import { validatingAdmissionPolicyBindings } from './validatingadmissionpolicybinding.ts';
import { validatingWebhookConfigurations } from './validatingwebhookconfiguration.ts';
import { apiServices } from './apiservice.ts';
import { clusterRoles } from './clusterrole.ts';
import { clusterRoleBindings } from './clusterrolebinding.ts';
import { deviceClasses } from './deviceclass.ts';
import { flowSchemas } from './flowschema.ts';
import { localSubjectAccessReviews } from './localsubjectaccessreview.ts';
import { priorityClasses } from './priorityclass.ts';
import { priorityLevelConfigurations } from './prioritylevelconfiguration.ts';
import { resourceClaims } from './resourceclaim.ts';
import { resourceClaimTemplates } from './resourceclaimtemplate.ts';
import { resourceSlices } from './resourceslice.ts';
import { roles } from './role.ts';
import { roleBindings } from './rolebinding.ts';
import { runtimeClasses } from './runtimeclass.ts';
import { selfSubjectAccessReviews } from './selfsubjectaccessreview.ts';
import { selfSubjectRulesReviews } from './selfsubjectrulesreview.ts';
import { subjectAccessReviews } from './subjectaccessreview.ts';
import { tokenReviews } from './tokenreview.ts';

/**
 * A definition as the registry and the driver see it. Sound because a definition is only ever called with objects that were
 * decoded by its own schema.
 */
function anyKind<T extends KubeObject>(definition: ResourceDefinition<T>): ResourceDefinition {
  return definition as unknown as ResourceDefinition;
}

/** Every resource that the API serves, in discovery order. Adding a kind adds a file and a line here. */
export const resources: readonly ResourceDefinition[] = [
  anyKind(bindings),
  anyKind(componentStatuses),
  anyKind(configMaps),
  anyKind(endpoints),
  anyKind(events),
  anyKind(limitRanges),
  anyKind(namespaces),
  anyKind(nodes),
  anyKind(persistentVolumeClaims),
  anyKind(persistentVolumes),
  anyKind(pods),
  anyKind(podTemplates),
  anyKind(replicationControllers),
  anyKind(resourceQuotas),
  anyKind(secrets),
  anyKind(serviceAccounts),
  anyKind(services),
  anyKind(controllerRevisions),
  anyKind(daemonSets),
  anyKind(deployments),
  anyKind(replicaSets),
  anyKind(statefulSets),
  anyKind(eventsEvents),
  anyKind(selfSubjectReviews),
  anyKind(tokenReviews),
  anyKind(localSubjectAccessReviews),
  anyKind(selfSubjectAccessReviews),
  anyKind(selfSubjectRulesReviews),
  anyKind(subjectAccessReviews),
  anyKind(horizontalPodAutoscalers),
  anyKind(horizontalPodAutoscalersV1),
  anyKind(cronJobs),
  anyKind(jobs),
  anyKind(certificateSigningRequests),
  anyKind(ingressClasses),
  anyKind(ingresses),
  anyKind(ipAddresses),
  anyKind(networkPolicies),
  anyKind(serviceCidrs),
  anyKind(mutatingAdmissionPolicies),
  anyKind(mutatingAdmissionPolicyBindings),
  anyKind(mutatingWebhookConfigurations),
  anyKind(validatingAdmissionPolicies),
  anyKind(validatingAdmissionPolicyBindings),
  anyKind(validatingWebhookConfigurations),
  anyKind(leases),
  anyKind(endpointSlices),
  anyKind(csiDrivers),
  anyKind(csiNodes),
  anyKind(csiStorageCapacities),
  anyKind(storageClasses),
  anyKind(volumeAttachments),
  anyKind(volumeAttributesClasses),
  anyKind(podDisruptionBudgets),
  anyKind(clusterRoleBindings),
  anyKind(clusterRoles),
  anyKind(roleBindings),
  anyKind(roles),
  anyKind(priorityClasses),
  anyKind(runtimeClasses),
  anyKind(deviceClasses),
  anyKind(resourceClaims),
  anyKind(resourceClaimTemplates),
  anyKind(resourceSlices),
  anyKind(flowSchemas),
  anyKind(priorityLevelConfigurations),
  anyKind(apiServices),
  anyKind(customResourceDefinitions),
];

/** The definition of a resource by group, version and plural. */
export function findResource(ref: ResourceRef): ResourceDefinition | undefined {
  return resources.find((r) => r.group === ref.group && r.version === ref.version && r.resource === ref.resource);
}

/** The definition of a kind by group, version and kind; of resources that share a kind the stored one. */
export function findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
  return resources.find((r) => r.group === group && r.version === version && r.kind === kind);
}

function metaRules({ namespaced, strategy }: ResourceDefinition) {
  return {
    namespaced,
    validateName: strategy.validateName ?? subdomainName,
    finalizers: strategy.finalizers ?? 'kubernetes',
  } as const;
}

/** Everything wrong with a new object, in Kubernetes' order, after defaults and `prepareForCreate`. */
export function validateNew(definition: ResourceDefinition, object: KubeObject): readonly FieldError[] {
  const { validate, validateCreate } = definition.strategy;
  const rules = [...(validate?.(object) ?? []), ...(validateCreate?.(object) ?? [])];
  const errors = definition.stored ? [...validateObjectMeta(object.metadata, metaRules(definition)), ...rules] : rules;
  return errors.map((error) => showingGiven(error, object));
}

/**
 * Everything wrong with an update of the main resource, in Kubernetes' order, after defaults and `prepareForUpdate`. What is
 * wrong with the metadata comes as often as Kubernetes looks at it.
 */
export function validateChange(
  definition: ResourceDefinition,
  object: KubeObject,
  old: KubeObject,
): readonly FieldError[] {
  const { validate, validateUpdate, updateRules, metadataOnUpdate = 'whole' } = definition.strategy;
  const [first, inner, second] = METADATA_ORDER[metadataOnUpdate];
  const looks: Record<MetadataLook, () => readonly FieldError[]> = {
    none: () => [],
    change: () => ownMetadataRules(definition, object, old),
    object: () => validateObjectMeta(object.metadata, metaRules(definition)),
  };
  const whole = [...looks[inner](), ...(validate?.(object, old) ?? [])];
  const change = [...looks[second](), ...(validateUpdate?.(object, old) ?? [])];
  const metadata = [...commonMetadataRules(definition, object, old), ...looks[first]()];
  const errors = [...metadata, ...(updateRules === 'before' ? [...change, ...whole] : [...whole, ...change])];
  return errors.map((error) => showingGiven(error, object));
}

type MetadataLook = 'none' | 'change' | 'object';

/** Which metadata rules of a kind stand first, before the rules on the whole object, and before those on the change. */
const METADATA_ORDER: Readonly<
  Record<NonNullable<Strategy['metadataOnUpdate']>, readonly [MetadataLook, MetadataLook, MetadataLook]>
> = {
  driver: ['none', 'none', 'none'],
  change: ['change', 'none', 'none'],
  object: ['none', 'object', 'none'],
  whole: ['change', 'object', 'none'],
  'whole first': ['none', 'object', 'change'],
  'object twice': ['none', 'object', 'object'],
};

/** What Kubernetes checks of every update, before the rules of the kind. */
function commonMetadataRules({ namespaced }: ResourceDefinition, object: KubeObject, old: KubeObject): FieldError[] {
  const whole = { namespaced, validateName: pathSegment, finalizers: 'qualified' } as const;
  return [...validateObjectMeta(object.metadata, whole), ...validateObjectMetaUpdate(object.metadata, old.metadata)];
}

/** What the rules of a kind on changes begin with. */
function ownMetadataRules(definition: ResourceDefinition, object: KubeObject, old: KubeObject): FieldError[] {
  const finalizers = definition.strategy.finalizers === 'qualified' ? [] : kubernetesFinalizers(object.metadata);
  return [...validateObjectMetaUpdate(object.metadata, old.metadata), ...finalizers];
}

/** Everything wrong with an update through a subresource, after its own `prepareForUpdate`. */
export function validatePartChange(
  definition: ResourceDefinition,
  subresource: SubresourceDefinition,
  object: KubeObject,
  old: KubeObject,
): readonly FieldError[] {
  const metadata = [...commonMetadataRules(definition, object, old), ...ownMetadataRules(definition, object, old)];
  const errors = [...metadata, ...(subresource.validateUpdate?.(object, old) ?? [])];
  return errors.map((error) => showingGiven(error, object));
}

/** What a message shows of an empty list or map is what was written. */
function showingGiven(error: FieldError, object: KubeObject): FieldError {
  if (!('value' in error) || (error.value ?? null) !== null) return error;
  const given = givenEmptyAt(object, error.field);
  return given === undefined ? error : { ...error, value: given };
}
