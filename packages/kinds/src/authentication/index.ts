import type { ResourceDefinition } from '@gantry/apimachinery';
import { selfSubjectReviews } from './self-subject-review.ts';
import { tokenReviews } from './token-review.ts';

/** The kinds of `authentication.k8s.io`, in discovery's order. */
export const authenticationKinds: readonly ResourceDefinition[] = [selfSubjectReviews, tokenReviews];
