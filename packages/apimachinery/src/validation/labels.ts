import { append } from '@gantry/base';
import {
  type FieldError,
  forbidden,
  invalid,
  type LabelSelector,
  type LabelSelectorRequirement,
  labelValue,
  qualifiedName,
  required,
  tooLong,
} from '@gantry/objects';
import { invalidAll } from './errors.ts';

export function validateLabels(labels: Record<string, string> | undefined, path: string): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...invalidAll(path, key, qualifiedName(key)),
    ...invalidAll(path, value, labelValue(value)),
  ]);
}

/**
 * Checks annotations. Keys are checked in lower case, because Kubernetes allows capitals in annotation prefixes. Values only count for the
 * total size.
 */
export function validateAnnotations(annotations: Record<string, string> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    append(errors, invalidAll(path, key, qualifiedName(key.toLowerCase())));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_ANNOTATIONS_BYTES) errors.push(tooLong(path, MAX_ANNOTATIONS_BYTES));
  return errors;
}

export function validateLabelSelector(selector: LabelSelector | null | undefined, path: string): FieldError[] {
  if (selector === undefined || selector === null) return [];
  return [
    ...validateLabels(selector.matchLabels, `${path}.matchLabels`),
    ...(selector.matchExpressions ?? []).flatMap((requirement, i) =>
      validateLabelRequirement(requirement, `${path}.matchExpressions[${i}]`),
    ),
  ];
}

/** Rules on one requirement. Access reviews may use unknown operators ('any'). */
export function validateLabelRequirement(
  requirement: LabelSelectorRequirement,
  path: string,
  operators: 'known' | 'any' = 'known',
): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const counted = valueCountErrors(operator, values, path);
  const errors: FieldError[] = [...(counted ?? [])];
  if (counted === undefined && operators === 'known')
    errors.push(invalid(`${path}.operator`, operator, 'not a valid selector operator'));
  append(errors, invalidAll(`${path}.key`, key, qualifiedName(key)));
  values.forEach((value, i) => {
    append(errors, invalidAll(`${path}.values[${i}]`, value, labelValue(value)));
  });
  return errors;
}

/** Errors in the number of values, for operators that all selectors have; undefined for other operators. */
export function valueCountErrors(
  operator: string,
  values: readonly string[],
  path: string,
): readonly FieldError[] | undefined {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length > 0) return [];
      return [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      if (values.length === 0) return [];
      return [forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return undefined;
  }
}

/** Whether a selector has no requirements. `{}` selects everything, which workloads must not do. */
export function isEmptySelector(selector: LabelSelector): boolean {
  return Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
}

/** Whether the labels meet every requirement. The selector must be valid. */
export function selectorMatches(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return exact && (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

function meets(requirement: LabelSelectorRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[requirement.key];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && (requirement.values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(requirement.values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

/** A selector as kubectl and tables print it: `app=a,app,tier in (x,y)`; `<none>` for an empty one. */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  if (selector === undefined || selector === null || isEmptySelector(selector)) return '<none>';
  const parts: { key: string; text: string }[] = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  parts.sort(byKey);
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const list = `(${[...(values ?? [])].sort().join(',')})`;
    if (operator === 'Exists') parts.push({ key, text: key });
    else if (operator === 'DoesNotExist') parts.push({ key, text: `!${key}` });
    else parts.push({ key, text: `${key} ${operator === 'In' ? 'in' : 'notin'} ${list}` });
  }
  return parts
    .sort(byKey)
    .map((part) => part.text)
    .join(',');
}

function byKey(a: { key: string }, b: { key: string }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** The maximum total size of an object's annotation keys and values. */
export const MAX_ANNOTATIONS_BYTES = 262144;
