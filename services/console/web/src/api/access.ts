/** A rule of a SelfSubjectRulesReview. */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A rule for paths that are no resources. */
export interface PathRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** What a user may do in one namespace. */
export interface Rules {
  readonly rules: readonly ResourceRule[];
  readonly paths?: readonly PathRule[];
  /** The server could not list all rules: what they do not allow may be allowed. */
  readonly isIncomplete: boolean;
  /** The server has not responded yet: there are no rules to judge by, and nothing may be said to be refused. */
  readonly isLoading?: boolean;
}

export interface Attempt {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: any name. */
  readonly name?: string;
}

/** An attempt in a namespace; '' is the whole cluster. */
export interface Asked {
  readonly namespace: string;
  readonly attempt: Attempt;
}

/** Whether the rules allow an attempt. With incomplete rules everything is offered, and the server decides. */
export function allows({ rules, isIncomplete }: Rules, attempt: Attempt): boolean {
  return isIncomplete || rules.some((rule) => ruleAllows(rule, attempt));
}

function ruleAllows(rule: ResourceRule, { verb, group, resource, subresource, name }: Attempt): boolean {
  const { verbs, apiGroups = [], resources = [], resourceNames = [] } = rule;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  const hasResource =
    resources.includes('*') ||
    resources.includes(full) ||
    (subresource !== undefined && resources.includes(`*/${subresource}`));
  const hasName = resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
  return hasResource && hasName && has(verbs, verb) && has(apiGroups, group);
}

/** Whether the rules allow to read a path that is no resource. */
export function allowsPath({ paths = [], isIncomplete }: Rules, path: string): boolean {
  const matches = (pattern: string) =>
    pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));
  return (
    isIncomplete || paths.some(({ verbs, nonResourceURLs = [] }) => has(verbs, 'get') && nonResourceURLs.some(matches))
  );
}

function has(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}
