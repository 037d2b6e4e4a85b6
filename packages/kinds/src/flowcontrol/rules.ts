import { append } from '@gantry/base';
import {
  type FieldError,
  type NonResourcePolicyRule,
  type ResourcePolicyRule,
  dns1123Label,
  invalid,
  required,
} from '@gantry/objects';
import { invalidAll, unsupported } from '@gantry/apimachinery';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
const NAMESPACE_INTRO = "each member of this list must be '*' or a DNS-1123 label; ";

/** Checks which resources a FlowSchema applies to. */
export function validateFlowResources(rule: ResourcePolicyRule, path: string): FieldError[] {
  const { clusterScope = false } = rule;
  const [verbs, namespaces] = [given(rule.verbs), given(rule.namespaces)];
  const [apiGroups, resources] = [given(rule.apiGroups), given(rule.resources)];
  const errors = validateVerbs(verbs, `${path}.verbs`);
  const lists = [
    ['apiGroups', apiGroups, 'api group', 'api groups'],
    ['resources', resources, 'resource', 'resources'],
  ] as const;
  for (const [field, list, one, many] of lists) {
    if (list.length === 0) errors.push(required(`${path}.${field}`, `resource rules must supply at least one ${one}`));
    else if (list.length > 1 && list.includes('*')) errors.push(notAlone(`${path}.${field}`, list, many));
  }
  if (namespaces.length === 0 && !clusterScope) {
    const detail = 'resource rules that are not cluster scoped must supply at least one namespace';
    errors.push(required(`${path}.namespaces`, detail));
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) errors.push(notAlone(`${path}.namespaces`, namespaces, 'namespaces'));
  } else {
    namespaces.forEach((name, i) => {
      const complaints = dns1123Label(name).map((text) => NAMESPACE_INTRO + text);
      append(errors, invalidAll(`${path}.namespaces[${i}]`, name, complaints));
    });
  }
  return errors;
}

/** Checks which paths a FlowSchema applies to. */
export function validateFlowPaths(rule: NonResourcePolicyRule, path: string): FieldError[] {
  const [verbs, nonResourceURLs] = [given(rule.verbs), given(rule.nonResourceURLs)];
  const errors = validateVerbs(verbs, `${path}.verbs`);
  const at = `${path}.nonResourceURLs`;
  if (nonResourceURLs.length === 0) errors.push(required(at, 'nonResourceURLs must contain at least one value'));
  else if (nonResourceURLs.includes('*')) {
    if (nonResourceURLs.length > 1) errors.push(notAlone(at, nonResourceURLs, 'non-resource URLs'));
  } else {
    nonResourceURLs.forEach((url, i) => {
      const fault = pathFault(url);
      if (fault !== '') errors.push(invalid(`${at}[${i}]`, url, fault));
    });
  }
  return errors;
}

/** A missing required list is read as null. */
function given(list: readonly string[] | null | undefined): readonly string[] {
  return list ?? [];
}

function validateVerbs(verbs: readonly string[], path: string): FieldError[] {
  if (verbs.length === 0) return [required(path, 'verbs must contain at least one value')];
  if (verbs.includes('*')) return verbs.length > 1 ? [notAlone(path, verbs, 'verbs')] : [];
  return verbs.every((verb) => VERBS.includes(verb)) ? [] : [unsupported(path, verbs, VERBS)];
}

function notAlone(path: string, list: readonly string[], what: string): FieldError {
  return invalid(path, list, `if '*' is present, must not specify other ${what}`);
}

/** The error in a path or a path pattern (`/apis/*`); '' if valid. */
function pathFault(path: string): string {
  if (path === '') return 'must not be empty';
  if (path === '/') return '';
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  const stars = path.split('*').length - 1;
  return stars > 1 || (stars === 1 && !path.endsWith('/*')) ? 'wildcard can only do suffix matching' : '';
}
