import { type FieldError, LOCAL_SUBJECT_ACCESS_REVIEWS, type LocalSubjectAccessReview, invalid } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { printedPath, validateAttributes, validateNoMetadata, validateSubject } from './access-review.ts';

/** A local review may only ask about its own namespace, so that the right to create it can be granted per namespace. */
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

export const localSubjectAccessReviews = defineResource(LOCAL_SUBJECT_ACCESS_REVIEWS, {
  schema: 'authorization.v1.LocalSubjectAccessReview',
  verbs: ['create'],
  strategy: { validate },
  columns: [nameColumn, createdAtColumn],
  stored: false,
  exemptFromPolicies: true,
});
