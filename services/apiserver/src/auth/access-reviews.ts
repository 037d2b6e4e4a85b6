import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  type KubeObject,
  type LocalSubjectAccessReview,
  type PolicyRule,
  type ResourceAttributes,
  type SelfSubjectAccessReview,
  type SelfSubjectRulesReview,
  StatusError,
  type SubjectAccessReview,
  type TokenReview,
} from '@gantry/objects';
import { type User, userInfo } from './user.ts';
import type { AccessDecider, Decision } from './authz/authorizer.ts';
import { ISSUER } from './authn/service-account-claims.ts';
import type { OnNotice, TokenAuthenticator } from './authn/token-authenticator.ts';

/** The user of a review, and a function for warnings. */
export interface ReviewContext {
  readonly user: User;
  readonly warn: (text: string) => void;
  readonly audit: { annotate(key: string, value: string): void };
}

/** Evaluates access reviews and token reviews. Does not change other objects. */
export interface Reviewer {
  /** Fills in the status. Throws for reviews that Kubernetes rejects before the validation of fields. */
  review(definition: ResourceDefinition, object: KubeObject, context: ReviewContext): Promise<void>;
}

export function createReviewer(access: AccessDecider, tokens: readonly TokenAuthenticator[]): Reviewer {
  return {
    review: async (definition, object, { user, warn, audit }) => {
      switch (definition.kind) {
        case 'SubjectAccessReview':
        case 'LocalSubjectAccessReview': {
          const review = object as SubjectAccessReview | LocalSubjectAccessReview;
          const { user: name = '', uid = '', groups = [], extra = {} } = review.spec;
          review.status = statusOf(decideOn(access, { name, uid, groups, extra }, review.spec));
          return;
        }
        case 'SelfSubjectAccessReview': {
          const review = object as SelfSubjectAccessReview;
          review.status = statusOf(decideOn(access, user, review.spec));
          return;
        }
        case 'SelfSubjectRulesReview':
          reviewRules(access, user, object as SelfSubjectRulesReview);
          return;
        case 'TokenReview':
          await reviewToken(object as TokenReview, tokens, ({ annotation, warning }) => {
            audit.annotate(...annotation);
            if (warning !== undefined) warn(warning);
          });
          return;
        default:
      }
    },
  };
}

function statusOf({ allowed, reason }: Decision): NonNullable<SubjectAccessReview['status']> {
  return { allowed, reason: reason || undefined };
}

function decideOn(access: AccessDecider, user: User, spec: SelfSubjectAccessReview['spec']): Decision {
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes === undefined) {
    return access.decidePath(user, nonResourceAttributes?.verb ?? '', nonResourceAttributes?.path ?? '');
  }
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = resourceAttributes;
  const target = { definition: { group, resource }, namespace, name, subresource };
  return access.decide(user, { verb, target, object: undefined, fieldSelector: selectorOf(resourceAttributes) });
}

/** The field selector of the review, in the form of a request parameter. */
function selectorOf({ fieldSelector }: ResourceAttributes): string {
  const { rawSelector = '', requirements = [] } = fieldSelector ?? {};
  const each = requirements.flatMap(({ key, operator, values = [] }) => {
    const [value, ...more] = values;
    if (value === undefined || more.length > 0) return [];
    return operator === 'In' ? [`${key}=${value}`] : operator === 'NotIn' ? [`${key}!=${value}`] : [];
  });
  return rawSelector === '' ? each.join(',') : rawSelector;
}

/** Evaluates a rules review. The response does not contain the spec. */
function reviewRules(access: AccessDecider, user: User, review: SelfSubjectRulesReview): void {
  const namespace = review.spec?.namespace ?? '';
  if (namespace === '') throw StatusError.badRequest('no namespace on request');
  const { rules, problem } = access.rulesFor(user, namespace);
  review.metadata = {};
  review.spec = {};
  review.status = {
    resourceRules: rules.flatMap((rule) => (listed(rule.resources) ? [resourceRule(rule)] : [])),
    nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs = [] }) =>
      nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
    ),
    incomplete: false,
    evaluationError: problem || undefined,
  };
}

function listed(list: readonly string[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}

function resourceRule({ verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule): {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
} {
  return { verbs, apiGroups, resources, ...(resourceNames.length === 0 ? {} : { resourceNames }) };
}

async function reviewToken(
  review: TokenReview,
  tokens: readonly TokenAuthenticator[],
  onNotice: OnNotice,
): Promise<void> {
  const { token = '', audiences: asked = [] } = review.spec ?? {};
  if (token === '') throw StatusError.badRequest('token is required for TokenReview in authentication');
  const wanted = asked.length === 0 ? [ISSUER] : asked;
  for (const authenticator of tokens) {
    const user = await authenticator.authenticate(token, wanted, onNotice);
    if (user === undefined) continue;
    review.status = {
      authenticated: true,
      user: userInfo(user),
      audiences: user.audiences === undefined ? [...wanted] : wanted.filter((one) => user.audiences?.includes(one)),
    };
    return;
  }
  review.status = { user: {}, error: 'invalid bearer token' };
}
