import { formatTime } from '@gantry/base';
import type { SelfSubjectReview } from '../generated/types.ts';
import type { ResourceDefinition, StrategyContext } from '../resource.ts';
import { ageColumn, nameColumn } from './columns.ts';

/** The answer to "who am I": the user that authentication found. */
function prepareForCreate(object: SelfSubjectReview, { now, user }: StrategyContext): void {
  object.metadata = { creationTimestamp: formatTime(now) };
  const extra = Object.entries(user.extra).map(([key, values]): [string, string[]] => [key, [...values]]);
  object.status = {
    userInfo: {
      ...(user.name === '' ? {} : { username: user.name }),
      ...(user.uid === '' ? {} : { uid: user.uid }),
      ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
      ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    },
  };
}

export const selfSubjectReviews: ResourceDefinition<SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  resource: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'authentication.v1.SelfSubjectReview',
  verbs: ['create'],
  strategy: { prepareForCreate },
  subresources: [],
  columns: [nameColumn, ageColumn],
  selectableFields: {},
  stored: false,
};
