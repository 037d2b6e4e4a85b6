import { append } from '@gantry/base';
import {
  type CapacityRequestPolicy,
  type CapacityRequestPolicyRange,
  type FieldError,
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  forbidden,
  formatQuantity,
  invalid,
  parseQuantity,
  required,
} from '@gantry/objects';
import { validateDistinct } from '../fields/bounded-lists.ts';

const MAX_OPTIONS = 10;
const NANO_PER_UNIT = 1_000_000_000n;

/** Checks the request policy of a shared capacity: a list of amounts, or a range. */
export function validateRequestPolicy(capacity: string, policy: CapacityRequestPolicy, path: string): FieldError[] {
  const { default: chosen, validRange, validValues = [] } = policy;
  if (validValues.length > 0 && validRange !== undefined) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbidden(path, detail)];
  }
  if (validValues.length > 0) {
    return chosen === undefined
      ? [required(`${path}.default`, 'required when validValues is defined')]
      : validateValues(chosen, capacity, validValues, `${path}.validValues`);
  }
  if (validRange === undefined) return [];
  return chosen === undefined
    ? [required(`${path}.default`, 'required when validRange is defined')]
    : validateRange(chosen, capacity, validRange, `${path}.validRange`);
}

function isMore(a: string, b: string): boolean {
  return compareQuantity(parseQuantity(a), parseQuantity(b)) > 0;
}

function validateValues(chosen: string, capacity: string, values: readonly string[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  values.forEach((value, i) => {
    const before = values[i - 1];
    if (before !== undefined && isMore(before, value)) {
      errors.push(invalid(`${path}[${i}]`, canonicalQuantity(value), 'values must be sorted in ascending order'));
    }
  });
  const each = (value: string, at: string) =>
    isMore(value, capacity) ? [larger(at, value, 'option', capacity)] : ([] as FieldError[]);
  const keyOf = (value: string) => String(ceiling(value));
  append(errors, validateDistinct(values, MAX_OPTIONS, path, each, { of: keyOf }));
  const known = values.some((value) => compareQuantity(parseQuantity(value), parseQuantity(chosen)) === 0);
  if (known && values.length <= MAX_OPTIONS) return errors;
  const detail = 'default value is not valid according to the requestPolicy';
  return [...errors, invalid(path, canonicalQuantity(chosen), detail)];
}

function larger(path: string, value: string, what: string, capacity: string): FieldError {
  return invalid(
    path,
    canonicalQuantity(value),
    `${what} is larger than capacity value: ${canonicalQuantity(capacity)}`,
  );
}

function validateRange(
  chosen: string,
  capacity: string,
  range: CapacityRequestPolicyRange,
  path: string,
): FieldError[] {
  const { min, max, step } = range as Partial<CapacityRequestPolicyRange>;
  if (min === undefined) return [required(`${path}.min`, 'required when validRange is defined')];
  const errors: FieldError[] = [];
  if (isMore(min, capacity)) errors.push(larger(`${path}.min`, min, 'min', capacity));
  if (isMore(min, chosen)) {
    errors.push(
      invalid(`${path}.min`, canonicalQuantity(chosen), `default is less than min: ${canonicalQuantity(min)}`),
    );
  }
  if (max !== undefined) {
    const text = canonicalQuantity(max);
    if (isMore(min, max)) {
      errors.push(invalid(`${path}.max`, canonicalQuantity(min), `min is larger than max: ${text}`));
    }
    if (isMore(max, capacity)) errors.push(larger(`${path}.max`, max, 'max', capacity));
    if (isMore(chosen, max)) {
      errors.push(invalid(`${path}.max`, canonicalQuantity(chosen), `default is more than max: ${text}`));
    }
  }
  return step === undefined
    ? errors
    : [...errors, ...validateStep(chosen, capacity, { min, max, step }, `${path}.step`)];
}

function validateStep(
  chosen: string,
  capacity: string,
  { min, max, step }: { min: string; max: string | undefined; step: string },
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const next = formatQuantity(addQuantity(parseQuantity(min), parseQuantity(step)));
  if (isMore(next, capacity)) errors.push(larger(path, step, `one step ${next}`, capacity));
  const from = `(${canonicalQuantity(step)}) from (${canonicalQuantity(min)})`;
  const width = ceiling(step);
  for (const value of [chosen, ...(max === undefined ? [] : [max])]) {
    if (width !== 0n && (ceiling(value) - ceiling(min)) % width === 0n) continue;
    errors.push(invalid(path, canonicalQuantity(value), `value is not a multiple of a given step ${from}`));
  }
  return errors;
}

/** Whole units, rounded up as Kubernetes counts them. */
function ceiling(text: string): bigint {
  const { nano } = parseQuantity(text);
  const whole = nano / NANO_PER_UNIT;
  return nano > whole * NANO_PER_UNIT ? whole + 1n : whole;
}
