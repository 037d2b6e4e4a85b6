import type { User } from '../auth/user.ts';

/** How much of a request is logged, from least to most. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof LEVELS)[number];

/** The moments of a request at which an event may be logged. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof STAGES)[number];

/**
 * Resources of a group. An empty list and a single asterisk are all of them with their subresources; `pods/*` is pods with theirs, and
 * an asterisk before `/scale` every resource's scale.
 */
export interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** One rule: the level of the requests that it matches. Empty lists match everything. */
export interface AuditRule {
  readonly level: Level;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly Stage[];
  /** The policy's own setting when undefined. */
  readonly omitManagedFields: boolean | undefined;
}

/** Which requests are logged, and how much of each: `audit.k8s.io/v1` Policy. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly Stage[];
  readonly omitManagedFields: boolean;
}

/** What a request is about, as policies and events name it. */
export type AuditedRequest =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly version: string;
      readonly resource: string;
      readonly subresource: string;
      /** '' for cluster scope and for all namespaces. */
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string };

/** What a policy says of one request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** Decides by the first rule that matches; a request that no rule matches is not logged. Kubernetes' `policyRuleEvaluator`. */
export function decideLevel(policy: AuditPolicy, user: User, request: AuditedRequest): AuditDecision {
  const rule = policy.rules.find((one) => matches(one, user, request));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...policy.omitStages, ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields,
  };
}

/** Verbs of requests that change nothing. */
const READS: readonly string[] = ['get', 'list', 'watch', 'head', 'options'];

/** Subresources that do what they are asked to by any method, GET included. */
const STREAMS = /\/(attach|exec|portforward|proxy)$/;

/**
 * Whether any request that only reads can be logged: without such a rule, reads need no decision. Requests for streams and proxies
 * need one always, so that rules for them alone do not count.
 */
export function concernsReads({ rules }: AuditPolicy): boolean {
  return rules.some((rule) => {
    const { level, verbs } = rule;
    return (
      level !== 'None' && !isForStreams(rule) && (verbs.length === 0 || verbs.some((verb) => READS.includes(verb)))
    );
  });
}

function isForStreams({ resources }: AuditRule): boolean {
  const names = resources.flatMap((one) => (one.resources.length === 0 ? ['*'] : one.resources));
  return names.length > 0 && names.every((name) => STREAMS.test(name));
}

function matches(rule: AuditRule, user: User, request: AuditedRequest): boolean {
  if (rule.users.length > 0 && !rule.users.includes(user.name)) return false;
  if (rule.userGroups.length > 0 && !user.groups.some((group) => rule.userGroups.includes(group))) return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(request.verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) return matchesResource(rule, request);
  if (rule.nonResourceURLs.length > 0) return matchesPath(rule.nonResourceURLs, request);
  return true;
}

function matchesResource({ namespaces, resources }: AuditRule, request: AuditedRequest): boolean {
  if (request.kind !== 'resource') return false;
  if (namespaces.length > 0 && !namespaces.includes(request.namespace)) return false;
  if (resources.length === 0) return true;
  const { group, resource, subresource, name } = request;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const names = (pattern: string): boolean =>
    pattern === '*' ||
    pattern === whole ||
    pattern === `${resource}/*` ||
    (subresource !== '' && pattern === `*/${subresource}`);
  return resources.some(
    (one) =>
      one.group === group &&
      (one.resources.length === 0 ||
        (one.resources.some(names) && (one.resourceNames.length === 0 || one.resourceNames.includes(name)))),
  );
}

function matchesPath(patterns: readonly string[], request: AuditedRequest): boolean {
  if (request.kind !== 'path') return false;
  const { path } = request;
  return patterns.some(
    (pattern) => pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))),
  );
}
