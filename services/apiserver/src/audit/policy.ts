import type { User } from '../auth/user.ts';

/** The levels of a policy, from least to most content. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof LEVELS)[number];

/** The stages of a request at which an event may be logged. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof STAGES)[number];

/**
 * Resources of a group. An empty list or a single asterisk means all resources and their subresources. `pods/*` means all subresources of
 * pods. An asterisk before `/scale` means the scale of every resource.
 */
export interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** One rule, which sets the level of the requests that it matches. An empty list matches everything. */
export interface AuditRule {
  readonly level: Level;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly Stage[];
  /** Defaults to the setting of the policy. */
  readonly omitManagedFields: boolean | undefined;
}

/** An `audit.k8s.io/v1` Policy: which requests are logged, and at which level. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly Stage[];
  readonly omitManagedFields: boolean;
}

/** The attributes of a request in policies and audit events. */
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

/** The decision of a policy about one request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** Applies the first rule that matches. A request without a matching rule is not logged. Source: Kubernetes' `policyRuleEvaluator`. */
export function decideLevel(policy: AuditPolicy, user: User, request: AuditedRequest): AuditDecision {
  const rule = policy.rules.find((one) => matches(one, user, request));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...policy.omitStages, ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields,
  };
}

/** Verbs of read requests. */
const READS: readonly string[] = ['get', 'list', 'watch', 'head', 'options'];

/** Subresources that may change something with any method, also with GET. */
const STREAMS = /\/(attach|exec|portforward|proxy)$/;

/**
 * Whether the policy may log a read request. If not, read requests need no decision. Requests for streams and proxies always need a
 * decision, so rules only for them do not count here.
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
