import { append } from '@gantry/base';
import {
  dns1035Label,
  dns1123Subdomain,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  type LabelSelector,
  type MatchResources,
  type NamedRuleWithOperations,
  oneOf,
  type ParamKind,
  type ParamRef,
  pathSegment,
  repeatedAt,
  required,
  type RuleWithOperations,
} from '@gantry/objects';
import { invalidAll, unsupported, validateLabelSelector } from '@gantry/apimachinery';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
/** Deletions cannot be mutated. */
const MUTABLE_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];
export const FAILURE_POLICIES = ['Fail', 'Ignore'];
export const MATCH_POLICIES = ['Equivalent', 'Exact'];
export const REINVOCATION_POLICIES = ['IfNeeded', 'Never'];

/** The part of webhooks and policies that selects requests. */
interface Matching {
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
}

export function defaultMatching(matching: Matching): void {
  matching.matchPolicy ??= 'Equivalent';
  matching.namespaceSelector ??= {};
  matching.objectSelector ??= {};
}

export function defaultRules(rules: readonly RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*';
}

export function defaultMatchResources(match: MatchResources | undefined): void {
  if (match === undefined) return;
  defaultMatching(match);
  defaultRules(match.resourceRules);
  defaultRules(match.excludeResourceRules);
}

/** Defaults of both kinds of admission policies. */
export function defaultPolicy(policy: { spec?: { failurePolicy?: string; matchConstraints?: MatchResources } }): void {
  const spec = (policy.spec ??= {});
  spec.failurePolicy ??= 'Fail';
  defaultMatchResources(spec.matchConstraints);
}

function requiredOneOf(path: string, value: string | undefined, supported: readonly string[]): FieldError[] {
  return value === undefined ? [required(path)] : oneOf(path, value, supported);
}

export function validateRule(rule: RuleWithOperations, path: string): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    ...validateWildcard(operations, `${path}.operations`, 'operations'),
    ...operations.flatMap((operation, i) => oneOf(`${path}.operations[${i}]`, operation, OPERATIONS)),
    ...validateWildcard(apiGroups, `${path}.apiGroups`, 'API groups'),
    ...validateWildcard(apiVersions, `${path}.apiVersions`, 'API versions'),
    ...apiVersions.flatMap((version, i) => (version === '' ? [required(`${path}.apiVersions[${i}]`)] : [])),
    ...validateResources(resources, `${path}.resources`),
    ...oneOf(`${path}.scope`, scope, SCOPES),
  ];
}

function validateWildcard(values: readonly string[], path: string, what: string): FieldError[] {
  if (values.length === 0) return [required(path)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalid(path, values, `if '*' is present, must not specify other ${what}`)];
}

/** Checks resources such as `pods`, `pods/status`, `pods/*`, `*`, `*`+`/scale`. No entry may be covered by another one. */
function validateResources(resources: readonly string[], path: string): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const errors: FieldError[] = [];
  const withAllParts = new Set<string>();
  const partsOfAll = new Set<string>();
  let lastPlain = false;
  resources.forEach((resource, i) => {
    const at = `${path}[${i}]`;
    if (resource === '') {
      errors.push(required(at));
      return;
    }
    const slash = resource.indexOf('/');
    if (slash < 0) {
      lastPlain = resource !== '*';
      return;
    }
    const [whole, part] = [resource.slice(0, slash), resource.slice(slash + 1)];
    if (withAllParts.has(whole)) {
      errors.push(invalid(at, resource, `if '${whole}/*' is present, must not specify ${resource}`));
    }
    if (partsOfAll.has(part)) {
      errors.push(invalid(at, resource, `if '*/${part}' is present, must not specify ${resource}`));
    }
    if (part === '*') withAllParts.add(whole);
    if (whole === '*') partsOfAll.add(part);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && lastPlain) {
    errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}

export function validateMatchResources(match: MatchResources | undefined, path: string): FieldError[] {
  if (match === undefined) return [];
  const { matchPolicy, namespaceSelector, objectSelector, resourceRules, excludeResourceRules } = match;
  const named = (rules: readonly NamedRuleWithOperations[] | undefined, field: string) =>
    (rules ?? []).flatMap((rule, i) => validateNamedRule(rule, `${path}.${field}[${i}]`));
  return [
    ...requiredOneOf(`${path}.matchPolicy`, matchPolicy, MATCH_POLICIES),
    ...requiredSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...requiredSelector(objectSelector, `${path}.objectSelector`),
    ...named(resourceRules, 'resourceRules'),
    ...named(excludeResourceRules, 'excludeResourceRules'),
  ];
}

function requiredSelector(selector: LabelSelector | undefined, path: string): FieldError[] {
  return selector === undefined ? [required(path)] : validateLabelSelector(selector, path);
}

function validateNamedRule(rule: NamedRuleWithOperations, path: string): FieldError[] {
  const names = rule.resourceNames ?? [];
  const isRepeated = repeatedAt(names);
  const errors = names.flatMap((name, i) => {
    const at = `${path}.resourceNames[${i}]`;
    return [...invalidAll(at, name, pathSegment(name, false)), ...(isRepeated(i) ? [duplicate(at, name)] : [])];
  });
  return [...errors, ...validateRule(rule, path)];
}

/** Checks the match constraints of a policy, which need at least one rule. */
export function validateMatchConstraints(match: MatchResources | undefined, path: string): FieldError[] {
  if (match === undefined) return [required(path)];
  const errors = validateMatchResources(match, path);
  if ((match.resourceRules ?? []).length === 0) errors.push(required(`${path}.resourceRules`));
  return errors;
}

/** Checks that rules only have operations that can be mutated. */
export function validateMutableOperations(match: MatchResources | undefined, path: string): FieldError[] {
  return (match?.resourceRules ?? []).flatMap((rule) =>
    (rule.operations ?? []).flatMap((operation) =>
      oneOf(`${path}.resourceRules.operations`, operation, MUTABLE_OPERATIONS),
    ),
  );
}

export function validateFailurePolicy(policy: string | undefined, path: string): FieldError[] {
  return requiredOneOf(path, policy, FAILURE_POLICIES);
}

export function validateParamKind(param: ParamKind | undefined, path: string): FieldError[] {
  if (param === undefined) return [];
  const { apiVersion = '', kind = '' } = param;
  const errors = validateApiVersion(apiVersion, `${path}.apiVersion`);
  if (kind === '') return [...errors, required(`${path}.kind`)];
  const messages = dns1035Label(kind.toLowerCase());
  if (messages.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${messages.join(',')}`;
    errors.push(invalid(`${path}.kind`, kind, detail));
  }
  return errors;
}

function validateApiVersion(apiVersion: string, path: string): FieldError[] {
  if (apiVersion === '') return [required(path)];
  const parts = apiVersion.split('/');
  if (parts.length > 2) return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const version = parts.at(-1) ?? '';
  const group = parts.length === 2 ? (parts[0] ?? '') : '';
  const errors: FieldError[] = [];
  const refuse = (value: string, messages: readonly string[]) => {
    if (messages.length > 0) errors.push(invalid(path, value, messages.join(',')));
  };
  if (group !== '') refuse(group, dns1123Subdomain(group));
  if (version === '') errors.push(invalid(path, apiVersion, 'version must be specified'));
  else refuse(version, dns1035Label(version));
  return errors;
}

export function validateParamRef(ref: ParamRef | undefined, path: string): FieldError[] {
  if (ref === undefined) return [];
  const { name = '', selector, parameterNotFoundAction = '' } = ref;
  const errors: FieldError[] = [];
  if (name !== '') {
    append(errors, invalidAll(`${path}.name`, name, pathSegment(name, false)));
    if (selector !== undefined) errors.push(forbidden(`${path}.name`, 'name and selector are mutually exclusive'));
  }
  if (selector !== undefined) {
    append(errors, validateLabelSelector(selector, `${path}.selector`));
    if (name !== '') errors.push(forbidden(`${path}.selector`, 'name and selector are mutually exclusive'));
  }
  if (name === '' && selector === undefined) {
    errors.push(required(path, 'one of name or selector must be specified'));
  }
  const action = `${path}.parameterNotFoundAction`;
  if (parameterNotFoundAction === '') errors.push(required(action));
  else if (!['Deny', 'Allow'].includes(parameterNotFoundAction)) {
    errors.push(unsupported(action, parameterNotFoundAction, ['Deny', 'Allow']));
  }
  return errors;
}

/** Checks the name of the policy in a binding. */
export function validatePolicyName(name: string | undefined, path: string): FieldError[] {
  return name === undefined || name === '' ? [required(path)] : invalidAll(path, name, dns1123Subdomain(name));
}

const STATIC_SUFFIX = '.static.k8s.io';

/** Warns about names that are reserved for configuration from files on the server. */
export function staticSuffixWarnings(name: string | undefined): readonly string[] {
  if (name?.endsWith(STATIC_SUFFIX) !== true) return [];
  return [
    `metadata.name: names ending with "${STATIC_SUFFIX}" are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
