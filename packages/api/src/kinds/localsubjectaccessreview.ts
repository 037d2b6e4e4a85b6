import { type FieldError, invalid } from '../field-error.ts';
import type { LocalSubjectAccessReview } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { printedPath, validateAttributes, validateNoMetadata, validateSubject } from './rules/access-review.ts';

/** It asks about its own namespace only, so that who may ask can be decided by namespace. */
function validate({ metadata, spec = {} }: LocalSubjectAccessReview): FieldError[] {
  const errors = [...validateAttributes(spec, validateSubject(spec)), ...validateNoMetadata(metadata, 'namespace')];
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && namespace !== (metadata.namespace ?? '')) {
    errors.push(invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace'));
  }
  if (nonResourceAttributes !== undefined) {
    const printed = printedPath(nonResourceAttributes);
    errors.push(invalid('spec.nonResourceAttributes', printed, 'disallowed on this kind of request'));
  }
  return errors;
}

export const localSubjectAccessReviews: ResourceDefinition<LocalSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  resource: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'authorization.v1.LocalSubjectAccessReview',
  verbs: ['create'],
  strategy: { validate },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: false,
};
