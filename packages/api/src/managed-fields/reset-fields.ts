import type { ResourceDefinition } from '../resource.ts';
import { FieldSet } from './field-set.ts';

/** What of the changed fields a write can really change: the others are set back before they are stored. */
export type FieldFilter = (fields: FieldSet) => FieldSet;

const keepAll: FieldFilter = (fields) => fields;

function dropping(...paths: readonly (readonly string[])[]): FieldFilter {
  const dropped = FieldSet.of(...paths.map((path) => path.map((field) => `f:${field}`)));
  return (fields) => fields.recursiveDifference(dropped);
}

function keeping(...patterns: readonly (readonly string[])[]): FieldFilter {
  const kept = patterns.map((pattern) => pattern.map((field) => (field === '*' ? field : `f:${field}`)));
  return (fields) => fields.under(kept);
}

const METADATA_TOO = dropping(['metadata'], ['spec']);

const STATUS = dropping(['status']);
const SPEC = dropping(['spec']);

/** By resource and subresource; Kubernetes has them so, kind by kind. */
const FILTERS: Readonly<Record<string, FieldFilter>> = {
  'certificates.k8s.io/certificatesigningrequests': dropping(['spec'], ['status']),
  'certificates.k8s.io/certificatesigningrequests/status': dropping(['spec'], ['status', 'conditions']),
  'certificates.k8s.io/certificatesigningrequests/approval': dropping(['spec'], ['status', 'certificate']),
  '/namespaces/finalize': STATUS,
  '/pods/status': dropping(['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']),
  '/pods/ephemeralcontainers': keeping(['spec', 'ephemeralContainers']),
  '/pods/resize': keeping(
    ['spec', 'containers', '*', 'resources'],
    ['spec', 'containers', '*', 'resizePolicy'],
    ['spec', 'initContainers', '*', 'resources'],
    ['spec', 'initContainers', '*', 'resizePolicy'],
  ),
  'apps/deployments/status': dropping(['spec'], ['metadata', 'labels']),
  'admissionregistration.k8s.io/validatingadmissionpolicies/status': METADATA_TOO,
  'apiregistration.k8s.io/apiservices/status': METADATA_TOO,
  'flowcontrol.apiserver.k8s.io/flowschemas/status': METADATA_TOO,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/status': METADATA_TOO,
  'networking.k8s.io/servicecidrs/status': METADATA_TOO,
  'resource.k8s.io/resourceclaims/status': METADATA_TOO,
  'storage.k8s.io/volumeattachments/status': METADATA_TOO,
};

/** The filter of writes to a resource, or through one of its subresources ('' for none). */
export function resetFilterOf(definition: ResourceDefinition, subresource: string): FieldFilter {
  const { group, resource } = definition;
  const own = FILTERS[`${group}/${resource}${subresource === '' ? '' : `/${subresource}`}`];
  if (own !== undefined) return own;
  if (subresource === 'status') return typeof definition.schema === 'string' ? SPEC : METADATA_TOO;
  if (subresource !== '') return keepAll;
  return definition.subresources.some(({ name }) => name === 'status') ? STATUS : keepAll;
}
