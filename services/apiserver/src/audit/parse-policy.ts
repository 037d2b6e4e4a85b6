import { parsePlainBody } from '@gantry/apimachinery';
import { type AuditPolicy, type AuditRule, type GroupResources, LEVELS, STAGES } from './policy.ts';

/** An invalid audit policy. The message names the field. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

const POLICY_FIELDS = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields'];
const RULE_FIELDS = [
  ...['level', 'users', 'userGroups', 'verbs', 'resources', 'namespaces', 'nonResourceURLs'],
  ...['omitStages', 'omitManagedFields'],
];
const GROUP_FIELDS = ['group', 'resources', 'resourceNames'];

/**
 * Parses a policy file, YAML or JSON, and validates it by the rules of Kubernetes' `ValidatePolicy`. Throws AuditPolicyError. Unknown
 * fields are errors, since a misspelt field would log more or less than intended.
 */
export function parseAuditPolicy(text: string): AuditPolicy {
  let value: unknown;
  try {
    value = parsePlainBody(new TextEncoder().encode(text), 'yaml');
  } catch (error) {
    throw new AuditPolicyError(`the file is not YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  const policy = objectOf(value, 'policy', POLICY_FIELDS);
  if (policy['apiVersion'] !== 'audit.k8s.io/v1') {
    throw new AuditPolicyError(`apiVersion: ${JSON.stringify(policy['apiVersion'])} is not "audit.k8s.io/v1"`);
  }
  if (policy['kind'] !== 'Policy') {
    throw new AuditPolicyError(`kind: ${JSON.stringify(policy['kind'])} is not "Policy"`);
  }
  const rules = listOf(policy['rules'], 'rules').map((rule, index) => parseRule(rule, `rules[${index}]`));
  if (rules.length === 0) throw new AuditPolicyError('rules: a policy needs at least one rule');
  return {
    rules,
    omitStages: choicesOf(policy['omitStages'], 'omitStages', STAGES),
    omitManagedFields: booleanOf(policy['omitManagedFields'], 'omitManagedFields') ?? false,
  };
}

function parseRule(value: unknown, path: string): AuditRule {
  const rule = objectOf(value, path, RULE_FIELDS);
  const texts = (field: string): readonly string[] => textsOf(rule[field], `${path}.${field}`);
  const level = LEVELS.find((one) => one === rule['level']);
  if (level === undefined) {
    throw new AuditPolicyError(`${path}.level: ${JSON.stringify(rule['level'])} is not one of ${LEVELS.join(', ')}`);
  }
  const resources = listOf(rule['resources'], `${path}.resources`).map((one, index) =>
    parseGroup(one, `${path}.resources[${index}]`),
  );
  const [namespaces, nonResourceURLs] = [texts('namespaces'), texts('nonResourceURLs')];
  for (const [index, url] of nonResourceURLs.entries()) checkUrl(url, `${path}.nonResourceURLs[${index}]`);
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    throw new AuditPolicyError(
      `${path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`,
    );
  }
  return {
    level,
    users: texts('users'),
    userGroups: texts('userGroups'),
    verbs: texts('verbs'),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: choicesOf(rule['omitStages'], `${path}.omitStages`, STAGES),
    omitManagedFields: booleanOf(rule['omitManagedFields'], `${path}.omitManagedFields`),
  };
}

function parseGroup(value: unknown, path: string): GroupResources {
  const entry = objectOf(value, path, GROUP_FIELDS);
  const group = entry['group'] ?? '';
  if (typeof group !== 'string') throw new AuditPolicyError(`${path}.group: must be text`);
  // A version in the group is a common mistake. Such a rule would match nothing.
  if (group.includes('/'))
    throw new AuditPolicyError(`${path}.group: ${JSON.stringify(group)} must not have a version`);
  const resources = textsOf(entry['resources'], `${path}.resources`);
  const resourceNames = textsOf(entry['resourceNames'], `${path}.resourceNames`);
  if (resourceNames.length > 0 && resources.length === 0) {
    throw new AuditPolicyError(`${path}.resourceNames: using resourceNames requires at least one resource`);
  }
  return { group, resources, resourceNames };
}

function checkUrl(url: string, path: string): void {
  if (url === '*') return;
  if (!url.startsWith('/')) {
    throw new AuditPolicyError(`${path}: ${JSON.stringify(url)} must begin with a '/' character`);
  }
  if (url.slice(0, -1).includes('*')) {
    throw new AuditPolicyError(`${path}: the wildcard '*' must be the final character of ${JSON.stringify(url)}`);
  }
}

function objectOf(value: unknown, path: string, fields: readonly string[]): Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new AuditPolicyError(`${path}: must be an object`);
  }
  const unknown = Object.keys(value).find((field) => !fields.includes(field));
  if (unknown !== undefined) throw new AuditPolicyError(`${path}.${unknown}: unknown field`);
  return value as Readonly<Record<string, unknown>>;
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new AuditPolicyError(`${path}: must be a list`);
  return value;
}

function textsOf(value: unknown, path: string): readonly string[] {
  return listOf(value, path).map((one, index) => {
    if (typeof one !== 'string') throw new AuditPolicyError(`${path}[${index}]: must be text`);
    return one;
  });
}

function choicesOf<T extends string>(value: unknown, path: string, choices: readonly T[]): readonly T[] {
  return textsOf(value, path).map((one, index) => {
    const choice = choices.find((known) => known === one);
    if (choice === undefined) {
      throw new AuditPolicyError(`${path}[${index}]: ${JSON.stringify(one)} is not one of ${choices.join(', ')}`);
    }
    return choice;
  });
}

function booleanOf(value: unknown, path: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw new AuditPolicyError(`${path}: must be true or false`);
  return value;
}
