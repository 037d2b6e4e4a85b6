import { append } from '@gantry/base';
import {
  type Affinity,
  type FieldError,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PodAffinity,
  type PodAffinityTerm,
  dns1123Label,
  invalid,
  labelValue,
  qualifiedName,
  required,
} from '@gantry/objects';
import { invalidAll, validateLabelSelector, valueCountErrors } from '@gantry/apimachinery';
import { validateLabelKeys } from './label-keys.ts';

const OPERATOR = 'not a valid selector operator';
const WEIGHT = 'must be in the range 1-100';
const HARD = 'requiredDuringSchedulingIgnoredDuringExecution';
const SOFT = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateAffinity(affinity: Affinity | undefined, path: string): FieldError[] {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {};
  return [
    ...(nodeAffinity?.[HARD] === undefined
      ? []
      : validateNodeSelector(nodeAffinity[HARD], `${path}.nodeAffinity.${HARD}`)),
    ...(nodeAffinity?.[SOFT] ?? []).flatMap(({ weight = 0, preference = {} }, i) => {
      const at = `${path}.nodeAffinity.${SOFT}[${i}]`;
      return [...validateWeight(weight, `${at}.weight`), ...validateTerm(preference, `${at}.preference`)];
    }),
    ...validatePodAffinity(podAffinity, `${path}.podAffinity`),
    ...validatePodAffinity(podAntiAffinity, `${path}.podAntiAffinity`),
  ];
}

function validateWeight(weight: number, path: string): FieldError[] {
  return weight >= 1 && weight <= 100 ? [] : [invalid(path, weight, WEIGHT)];
}

export function validateNodeSelector(selector: NodeSelector, path: string): FieldError[] {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term')];
  return terms.flatMap((term, i) => validateTerm(term, `${path}.nodeSelectorTerms[${i}]`));
}

function validateTerm(term: NodeSelectorTerm, path: string): FieldError[] {
  return [
    ...(term.matchExpressions ?? []).flatMap((item, i) => validateRequirement(item, `${path}.matchExpressions[${i}]`)),
    ...(term.matchFields ?? []).flatMap((item, i) => validateFieldRequirement(item, `${path}.matchFields[${i}]`)),
  ];
}

function validateRequirement(requirement: NodeSelectorRequirement, path: string): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [...(valueCountErrors(operator, values, path) ?? validateBound(operator, values, path))];
  values.forEach((value, i) => {
    append(errors, invalidAll(`${path}.values[${i}]`, value, labelValue(value)));
  });
  return [...errors, ...invalidAll(`${path}.key`, key, qualifiedName(key))];
}

/** Checks Gt and Lt, which only node selectors have. */
function validateBound(operator: string, values: readonly string[], path: string): readonly FieldError[] {
  if (operator !== 'Gt' && operator !== 'Lt') return [invalid(`${path}.operator`, operator, OPERATOR)];
  if (values.length === 1) return [];
  return [required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
}

function validateFieldRequirement(requirement: NodeSelectorRequirement, path: string): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalid(`${path}.operator`, operator, OPERATOR));
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${path}.values`, detail));
  }
  if (key !== 'metadata.name') errors.push(invalid(`${path}.key`, key, 'not a valid field selector key'));
  return errors;
}

function validatePodAffinity(affinity: PodAffinity | undefined, path: string): FieldError[] {
  return [
    ...(affinity?.[HARD] ?? []).flatMap((term, i) => validatePodTerm(term, `${path}.${HARD}[${i}]`)),
    ...(affinity?.[SOFT] ?? []).flatMap(({ weight = 0, podAffinityTerm }, i) => {
      const at = `${path}.${SOFT}[${i}]`;
      return [
        ...validateWeight(weight, `${at}.weight`),
        ...validatePodTerm(podAffinityTerm ?? { topologyKey: '' }, `${at}.podAffinityTerm`),
      ];
    }),
  ];
}

function validatePodTerm(term: PodAffinityTerm, path: string): FieldError[] {
  const { topologyKey = '', namespaces = [] } = term;
  const errors = [
    ...validateLabelSelector(term.labelSelector, `${path}.labelSelector`),
    ...validateLabelSelector(term.namespaceSelector, `${path}.namespaceSelector`),
    ...namespaces.flatMap((name) => invalidAll(`${path}.namespace`, name, dns1123Label(name))),
  ];
  append(errors, validateLabelKeys(term, path));
  if (topologyKey === '') errors.push(required(`${path}.topologyKey`, 'can not be empty'));
  return [...errors, ...invalidAll(`${path}.topologyKey`, topologyKey, qualifiedName(topologyKey))];
}
