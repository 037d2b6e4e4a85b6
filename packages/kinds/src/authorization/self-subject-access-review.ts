import { SELF_SUBJECT_ACCESS_REVIEWS } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { validateAttributes, validateNoMetadata } from './access-review.ts';

export const selfSubjectAccessReviews = defineResource(SELF_SUBJECT_ACCESS_REVIEWS, {
  schema: 'authorization.v1.SelfSubjectAccessReview',
  verbs: ['create'],
  strategy: { validate: ({ metadata, spec }) => [...validateAttributes(spec ?? {}), ...validateNoMetadata(metadata)] },
  columns: [nameColumn, createdAtColumn],
  stored: false,
  exemptFromPolicies: true,
});
