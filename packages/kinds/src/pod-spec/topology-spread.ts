import { append } from '@gantry/base';
import {
  duplicate,
  type FieldError,
  invalid,
  oneOf,
  repeatedAt,
  required,
  type TopologySpreadConstraint,
} from '@gantry/objects';
import { validateLabelKeys } from './label-keys.ts';
import { validateLabelSelector } from '@gantry/apimachinery';

const WHEN = ['DoNotSchedule', 'ScheduleAnyway'];
const INCLUSION = ['Honor', 'Ignore'];

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  path: string,
): FieldError[] {
  const all = constraints ?? [];
  // Kubernetes reports the first of two.
  const comesAgain = repeatedAt(
    all.map((one) => JSON.stringify([one.topologyKey ?? '', one.whenUnsatisfiable ?? ''])).reverse(),
  );
  return all.flatMap((constraint, i) => {
    const at = `${path}[${i}]`;
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable: when = '' } = constraint;
    const errors: FieldError[] = [];
    if (maxSkew <= 0) errors.push(invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero'));
    if (topologyKey === '') errors.push(required(`${at}.topologyKey`, 'can not be empty'));
    append(errors, oneOf(`${at}.whenUnsatisfiable`, when, WHEN));
    if (comesAgain(all.length - 1 - i))
      errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${when}}`));
    return [
      ...errors,
      ...validateMinDomains(constraint.minDomains, when, `${at}.minDomains`),
      ...validateRest(constraint, at),
    ];
  });
}

function validateMinDomains(minDomains: number | undefined, when: string, path: string): FieldError[] {
  if (minDomains === undefined) return [];
  const errors: FieldError[] = [];
  if (minDomains <= 0) errors.push(invalid(path, minDomains, 'must be greater than zero'));
  if (when !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${when}`;
    errors.push(invalid(path, minDomains, detail));
  }
  return errors;
}

function validateRest(constraint: TopologySpreadConstraint, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
    const value = constraint[field];
    append(errors, oneOf(`${path}.${field}`, value, INCLUSION));
  }
  return [
    ...errors,
    ...validateLabelKeys(constraint, path),
    ...validateLabelSelector(constraint.labelSelector, `${path}.labelSelector`),
  ];
}
