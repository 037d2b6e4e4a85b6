import { append } from '@gantry/base';
import type { PolicyRule } from '@gantry/objects';

/**
 * Roles by name. Each rule is one line of fields with spaces between them: verbs, API groups (`core` for the core group), resources,
 * and optionally resource names. Each field is a list with commas. A rule for paths has verbs, and `paths:` with the list of paths.
 */
export type RoleTable = Readonly<Record<string, readonly string[]>>;

const PATHS = 'paths:';

/** Parses one line of a table. */
export function parseRule(line: string): PolicyRule {
  const [verbs = '', groups = '', resources = '', names] = line.split(' ');
  if (groups.startsWith(PATHS)) {
    return { verbs: verbs.split(','), nonResourceURLs: groups.slice(PATHS.length).split(',') };
  }
  return {
    verbs: verbs.split(','),
    apiGroups: groups.split(',').map((group) => (group === 'core' ? '' : group)),
    resources: resources.split(','),
    resourceNames: names?.split(','),
  };
}

/** The action of a request, on a resource or on a path. */
export type Action =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      /** '' for the whole cluster. */
      readonly namespace: string;
      /** '' if the request names no object. */
      readonly name: string;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string };

/** Whether a rule allows an action. */
export function allows(rule: PolicyRule, action: Action): boolean {
  if (!includes(rule.verbs, action.verb)) return false;
  if (action.kind === 'path') return (rule.nonResourceURLs ?? []).some((url) => matchesPath(url, action.path));
  const names = rule.resourceNames ?? [];
  return (
    includes(rule.apiGroups, action.group) &&
    (rule.resources ?? []).some((resource) => matchesResource(resource, action.resource, action.subresource)) &&
    (names.length === 0 || names.includes(action.name))
  );
}

function includes(list: readonly string[] | null | undefined, wanted: string): boolean {
  return list !== undefined && list !== null && (list.includes('*') || list.includes(wanted));
}

function matchesResource(allowed: string, resource: string, subresource: string): boolean {
  if (allowed === '*') return true;
  if (subresource === '') return allowed === resource;
  return allowed === `${resource}/${subresource}` || allowed === `*/${subresource}`;
}

function matchesPath(allowed: string, path: string): boolean {
  if (allowed === '*' || allowed === path) return true;
  return allowed.endsWith('*') && path.startsWith(withoutStars(allowed));
}

/** Removes the asterisks at the end. */
function withoutStars(url: string): string {
  let end = url.length;
  while (url[end - 1] === '*') end--;
  return url.slice(0, end);
}

/** Limits of `missingRights`: reported rights, and compared items. They are needed because the lists of a rule multiply. */
const MAX_MISSING = 500;
const MAX_LOOKS = 100_000;

/**
 * The rights of `wanted` that `held` does not cover, each as the smallest possible rule. Stops at the limits above. Rights beyond the
 * limit of compared items count as missing.
 */
export function missingRights(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  const missing: PolicyRule[] = [];
  let looks = 0;
  const isHeld = (rule: PolicyRule): boolean => {
    looks += LISTS.reduce((sum, list) => sum + (rule[list]?.length ?? 0), 1);
    return looks <= MAX_LOOKS && held.some((one) => coversRule(one, rule));
  };
  for (const part of wanted.flatMap(partsOf)) {
    for (const right of uncovered(part, isHeld)) {
      missing.push(right);
      if (missing.length === MAX_MISSING || looks > MAX_LOOKS) return missing;
    }
  }
  return missing;
}

/** Splits a rule into its part for resources and its part for paths. Omits parts without effect. */
function partsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): readonly PolicyRule[] {
  if (!isFilled(verbs)) return [];
  const names = isFilled(resourceNames) ? { resourceNames } : {};
  return [
    ...(isFilled(apiGroups) && isFilled(resources) ? [{ apiGroups, resources, verbs, ...names }] : []),
    ...(isFilled(nonResourceURLs) ? [{ nonResourceURLs, verbs }] : []),
  ];
}

function isFilled(list: readonly string[] | null | undefined): list is string[] {
  return list !== undefined && list !== null && list.length > 0;
}

const LISTS = ['apiGroups', 'resources', 'nonResourceURLs', 'verbs', 'resourceNames'] as const;

/** The rights of a rule that are not held. Splits the lists of the rule only as far as necessary. */
function* uncovered(rule: PolicyRule, isHeld: (rule: PolicyRule) => boolean): Generator<PolicyRule> {
  if (isHeld(rule)) return;
  const several = LISTS.find((list) => (rule[list] ?? []).length > 1);
  if (several === undefined) yield rule;
  else for (const item of rule[several] ?? []) yield* uncovered({ ...rule, [several]: [item] }, isHeld);
}

function coversRule(held: PolicyRule, wanted: PolicyRule): boolean {
  if (!(wanted.verbs ?? []).every((verb) => includes(held.verbs, verb))) return false;
  const urls = held.nonResourceURLs ?? [];
  if (!(wanted.nonResourceURLs ?? []).every((url) => urls.some((one) => coversPath(one, url)))) return false;
  if (!(wanted.apiGroups ?? []).every((group) => includes(held.apiGroups, group))) return false;
  const resources = held.resources ?? [];
  if (!(wanted.resources ?? []).every((resource) => coversResource(resources, resource))) return false;
  const names = held.resourceNames ?? [];
  const wantedNames = wanted.resourceNames ?? [];
  return names.length === 0 || (wantedNames.length > 0 && wantedNames.every((name) => names.includes(name)));
}

function coversResource(held: readonly string[], wanted: string): boolean {
  if (held.includes('*') || held.includes(wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash > 0 && held.includes(`*${wanted.slice(slash)}`);
}

function coversPath(held: string, wanted: string): boolean {
  if (held === '*' || held === wanted) return true;
  return held.endsWith('*') && wanted.startsWith(withoutStars(held));
}

/** Describes rules as Kubernetes does. Rules that differ only in their verbs are merged. */
export function describeRules(rules: readonly PolicyRule[]): string[] {
  const byRest = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const { verbs, ...rest } = rule;
    const key = JSON.stringify(rest);
    const known = byRest.get(key);
    if (known === undefined) byRest.set(key, { ...rule, verbs: [...verbs] });
    else
      append(
        known.verbs,
        verbs.filter((verb) => !known.verbs.includes(verb)),
      );
  }
  return [...new Set([...byRest.values()].map(describeRule))].sort();
}

function describeRule(rule: PolicyRule): string {
  const parts = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ] as const;
  const texts = parts.flatMap(([name, list]) =>
    list === undefined || list.length === 0 ? [] : [`${name}:${quoteList(list)}`],
  );
  return `{${texts.join(', ')}}`;
}

/** Formats a list like Go's %q. */
export function quoteList(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(' ')}]`;
}
