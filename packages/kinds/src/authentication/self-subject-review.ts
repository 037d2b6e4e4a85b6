import { formatTime } from '@gantry/base';
import { SELF_SUBJECT_REVIEWS, type SelfSubjectReview } from '@gantry/objects';
import { type StrategyContext, ageColumn, defineResource, nameColumn } from '@gantry/apimachinery';

/** The response to "who am I": the authenticated user. */
function prepareForCreate(object: SelfSubjectReview, { now, user }: StrategyContext): void {
  object.metadata = { creationTimestamp: formatTime(now) };
  const extra = Object.entries(user.extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  object.status = {
    userInfo: {
      username: user.name || undefined,
      uid: user.uid || undefined,
      ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
      ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    },
  };
}

export const selfSubjectReviews = defineResource(SELF_SUBJECT_REVIEWS, {
  schema: 'authentication.v1.SelfSubjectReview',
  verbs: ['create'],
  strategy: { prepareForCreate },
  columns: [nameColumn, ageColumn],
  stored: false,
  exemptFromPolicies: true,
});
