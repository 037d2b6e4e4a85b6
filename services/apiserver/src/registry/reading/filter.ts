import { fieldLabelsOf, parseFieldSelector, type ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, parseLabelSelector, StatusError } from '@gantry/objects';
import { type Filter, objectKey } from '../../cache/index.ts';
import type { ListRequest } from '../contract/registry.ts';
import type { ResourceVersion } from '../../storage/object-store.ts';

const FIXED_FIELDS: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': (object) => object.metadata.name ?? '',
  'metadata.namespace': (object) => object.metadata.namespace ?? '',
};

const ANY_FIELD = { supports: () => true, refusal: (field: string) => StatusError.badRequest(field) };

/** Parses both selectors. Throws BadRequest with Kubernetes' message, and Invalid if parameters contradict each other. */
export function filterOf(
  definition: ResourceDefinition,
  request: Pick<ListRequest, 'namespace' | 'labelSelector' | 'fieldSelector' | 'faults'>,
): Filter {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector);
  const { faults = [] } = request;
  if (faults.length > 0) {
    // The syntax of the selector is checked before `faults` are reported, and its fields only after them.
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
    nodeName,
  };
}

/** The smallest version that an object can have. */
const MIN_VERSION = 256;
const MAX_UINT64 = 2n ** 64n - 1n;

/** Parses a resourceVersion. Undefined for '' and '0'. Throws BadRequest with Go's message for anything that is not a number. */
export function parseResourceVersion(text: string, prefix = ''): ResourceVersion | undefined {
  if (text === '') return undefined;
  const why = /^[0-9]+$/.test(text) ? (isOutOfRange(text) ? 'value out of range' : '') : 'invalid syntax';
  if (why !== '') {
    const quoted = JSON.stringify(text);
    throw StatusError.badRequest(
      `${prefix}resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
    );
  }
  // A number above the safe integers was never a version. Messages show its text, so the loss of precision does not matter.
  const value = Number(text);
  return value === 0 ? undefined : value;
}

/** Whether a number needs more than 64 bits. Long texts are not parsed. */
function isOutOfRange(digits: string): boolean {
  const significant = digits.replace(/^0+/, '');
  return significant.length > 20 || BigInt(significant === '' ? 0 : significant) > MAX_UINT64;
}

/** The error for a version below the smallest possible one; undefined for other versions. */
export function tooOld(version: ResourceVersion): StatusError | undefined {
  return version < MIN_VERSION
    ? StatusError.expired('The resourceVersion for the provided list is too old.')
    : undefined;
}

/** The error for a version that the cache has not reached in time. */
export function tooLargeVersion(asked: string, current: ResourceVersion): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}
