import { type ResourceDefinition, fieldLabelsOf, parseFieldSelector } from '@gantry/apimachinery';
import { type KubeObject, StatusError, parseLabelSelector } from '@gantry/objects';
import { type Filter, objectKey } from '../../cache/index.ts';
import type { ListRequest } from '../contract/registry.ts';

const FIXED_FIELDS: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

const ANY_FIELD = { supports: () => true, refusal: (field: string) => StatusError.badRequest(field) };

/** Reads both selectors. Throws BadRequest with Kubernetes' words, and Invalid where the request contradicts itself. */
export function filterOf(
  definition: ResourceDefinition,
  request: Pick<ListRequest, 'namespace' | 'labelSelector' | 'fieldSelector' | 'faults'>,
): Filter {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector);
  const { faults = [] } = request;
  if (faults.length > 0) {
    // Whether there are such fields is asked later than whether the selector is one.
    parseFieldSelector(request.fieldSelector, ANY_FIELD);
    throw StatusError.invalid('meta.k8s.io', 'ListOptions', '', faults);
  }
  const fields = parseFieldSelector(request.fieldSelector, fieldLabelsOf(definition));
  const nodeName = fields.requiresExact('spec.nodeName');
  const name = fields.requiresExact('metadata.name');
  const read = (object: KubeObject) => (field: string) =>
    (FIXED_FIELDS[field] ?? definition.selectableFields[field])?.(object) ?? '';
  return {
    namespace,
    selectsAll: labels.empty && fields.empty,
    matches: (object) =>
      (namespace === '' || object.metadata.namespace === namespace) &&
      (labels.empty || labels.matches(object.metadata.labels ?? {})) &&
      (fields.empty || fields.matches(read(object))),
    ...(name === undefined || (namespace === '' && definition.namespaced)
      ? {}
      : { key: objectKey(definition, namespace, name) }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}
