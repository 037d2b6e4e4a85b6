import { SELF_SUBJECT_RULES_REVIEWS } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';

export const selfSubjectRulesReviews = defineResource(SELF_SUBJECT_RULES_REVIEWS, {
  schema: 'authorization.v1.SelfSubjectRulesReview',
  verbs: ['create'],
  strategy: {},
  columns: [nameColumn, createdAtColumn],
  stored: false,
  exemptFromPolicies: true,
});
