import type { SelfSubjectRulesReview } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';

export const selfSubjectRulesReviews: ResourceDefinition<SelfSubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  resource: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'authorization.v1.SelfSubjectRulesReview',
  verbs: ['create'],
  strategy: {},
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: false,
};
