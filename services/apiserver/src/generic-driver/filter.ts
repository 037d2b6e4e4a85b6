import {
  fieldLabelsOf,
  type KubeObject,
  parseFieldSelector,
  parseLabelSelector,
  type ResourceDefinition,
} from '@gantry/api';
import { type Filter, objectKey } from '../cache/index.ts';

const FIXED_FIELDS: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

/** Reads both selectors. Throws BadRequest with Kubernetes' words. */
export function filterOf(
  definition: ResourceDefinition,
  request: { readonly namespace: string; readonly labelSelector: string; readonly fieldSelector: string },
): Filter {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector);
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
