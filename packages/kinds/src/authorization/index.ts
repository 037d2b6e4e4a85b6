import type { ResourceDefinition } from '@gantry/apimachinery';
import { localSubjectAccessReviews } from './local-subject-access-review.ts';
import { selfSubjectAccessReviews } from './self-subject-access-review.ts';
import { selfSubjectRulesReviews } from './self-subject-rules-review.ts';
import { subjectAccessReviews } from './subject-access-review.ts';

/** The kinds of `authorization.k8s.io`, in discovery's order. */
export const authorizationKinds: readonly ResourceDefinition[] = [
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
];
