import { append } from '@gantry/base';
import {
  type FieldError,
  type PolicyRule,
  type RoleRef,
  type Subject,
  dns1123Subdomain,
  equalJson,
  invalid,
  pathSegment,
  required,
} from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Checks the rules of a Role ('namespace') or ClusterRole ('cluster'). */
export function validatePolicyRules(
  rules: readonly PolicyRule[] | undefined,
  scope: 'namespace' | 'cluster',
): FieldError[] {
  return (rules ?? []).flatMap((rule, i) => validatePolicyRule(rule, scope, `rules[${i}]`));
}

function validatePolicyRule(rule: PolicyRule, scope: 'namespace' | 'cluster', path: string): FieldError[] {
  const { nonResourceURLs = [], apiGroups = [], resources = [], resourceNames = [] } = rule;
  // A missing required list is read as null.
  const verbs = (rule.verbs as string[] | null | undefined) ?? [];
  const errors: FieldError[] = [];
  if (verbs.length === 0) errors.push(required(`${path}.verbs`, 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    const refuse = (detail: string) => errors.push(invalid(`${path}.nonResourceURLs`, nonResourceURLs, detail));
    if (scope === 'namespace') refuse('namespaced rules cannot apply to non-resource URLs');
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      refuse('rules cannot apply to both regular resources and non-resource URLs');
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}

/** What RoleBindings and ClusterRoleBindings have in common. */
interface BindingLike {
  roleRef: RoleRef;
  subjects?: Subject[];
}

/** Sets API groups that follow from kinds. */
export function defaultBinding(binding: BindingLike): void {
  binding.roleRef ??= { kind: '', name: '' };
  if ((binding.roleRef.apiGroup ?? '') === '') binding.roleRef.apiGroup = RBAC_GROUP;
  for (const subject of binding.subjects ?? []) {
    const { kind, apiGroup = '' } = subject;
    if (apiGroup === '' && (kind === 'User' || kind === 'Group')) subject.apiGroup = RBAC_GROUP;
  }
}

/** Checks a binding in a namespace or for the whole cluster. */
export function validateBindingTo(binding: BindingLike, scope: 'namespace' | 'cluster'): FieldError[] {
  const errors: FieldError[] = [];
  const { apiGroup = '', kind = '', name = '' } = binding.roleRef ?? {};
  const kinds = scope === 'namespace' ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (apiGroup !== RBAC_GROUP) errors.push(unsupported('roleRef.apiGroup', apiGroup, [RBAC_GROUP]));
  if (!kinds.includes(kind)) errors.push(unsupported('roleRef.kind', kind, kinds));
  if (name === '') errors.push(required('roleRef.name'));
  else append(errors, invalidAll('roleRef.name', name, pathSegment(name, false)));
  const subjects = (binding.subjects ?? []).flatMap((subject, i) => validateSubject(subject, scope, `subjects[${i}]`));
  return [...errors, ...subjects];
}

function validateSubject(subject: Subject, scope: 'namespace' | 'cluster', path: string): FieldError[] {
  const { kind = '', name = '', namespace = '', apiGroup = '' } = subject;
  const errors: FieldError[] = name === '' ? [required(`${path}.name`)] : [];
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') append(errors, invalidAll(`${path}.name`, name, dns1123Subdomain(name)));
      if (apiGroup !== '') errors.push(unsupported(`${path}.apiGroup`, apiGroup, ['']));
      if (scope === 'cluster' && namespace === '') errors.push(required(`${path}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== RBAC_GROUP) errors.push(unsupported(`${path}.apiGroup`, apiGroup, [RBAC_GROUP]));
      break;
    default:
      errors.push(unsupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}

/** The role of a binding is immutable: the right to grant one role must not allow granting another one. */
export function validateBindingUpdate(binding: BindingLike, old: BindingLike): FieldError[] {
  if (equalJson(binding.roleRef, old.roleRef)) return [];
  const { apiGroup = '', kind = '', name = '' } = binding.roleRef;
  return [invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')];
}

/** The names of the subjects of a kind, as tables list them. */
export function subjectNames(binding: BindingLike, kind: string): string {
  return (binding.subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
}
