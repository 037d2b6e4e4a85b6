import type { TokenReview } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';

export const tokenReviews: ResourceDefinition<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  resource: 'tokenreviews',
  singular: 'tokenreview',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'authentication.v1.TokenReview',
  verbs: ['create'],
  strategy: {},
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: false,
};
