import type { SubjectAccessReview } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { validateAttributes, validateNoMetadata, validateSubject } from './rules/access-review.ts';

export const subjectAccessReviews: ResourceDefinition<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  resource: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'authorization.v1.SubjectAccessReview',
  verbs: ['create'],
  strategy: {
    validate: ({ metadata, spec }) => [
      ...validateAttributes(spec ?? {}, validateSubject(spec ?? {})),
      ...validateNoMetadata(metadata),
    ],
  },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: false,
};
