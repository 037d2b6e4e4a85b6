import type { SelfSubjectAccessReview } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { validateAttributes, validateNoMetadata } from './rules/access-review.ts';

export const selfSubjectAccessReviews: ResourceDefinition<SelfSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'authorization.v1.SelfSubjectAccessReview',
  verbs: ['create'],
  strategy: { validate: ({ metadata, spec }) => [...validateAttributes(spec ?? {}), ...validateNoMetadata(metadata)] },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: false,
};
