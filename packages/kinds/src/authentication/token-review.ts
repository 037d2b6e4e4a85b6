import { TOKEN_REVIEWS } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';

export const tokenReviews = defineResource(TOKEN_REVIEWS, {
  schema: 'authentication.v1.TokenReview',
  verbs: ['create'],
  strategy: {},
  columns: [nameColumn, createdAtColumn],
  stored: false,
  exemptFromPolicies: true,
});
