import { SUBJECT_ACCESS_REVIEWS } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { validateAttributes, validateNoMetadata, validateSubject } from './access-review.ts';

export const subjectAccessReviews = defineResource(SUBJECT_ACCESS_REVIEWS, {
  schema: 'authorization.v1.SubjectAccessReview',
  verbs: ['create'],
  strategy: {
    validate: ({ metadata, spec }) => [
      ...validateAttributes(spec ?? {}, validateSubject(spec ?? {})),
      ...validateNoMetadata(metadata),
    ],
  },
  columns: [nameColumn, createdAtColumn],
  stored: false,
  exemptFromPolicies: true,
});
