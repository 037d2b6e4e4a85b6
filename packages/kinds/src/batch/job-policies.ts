import { append } from '@gantry/base';
import {
  duplicate,
  type FieldError,
  invalid,
  type JobSpec,
  oneOf,
  type PodFailurePolicyOnExitCodesRequirement,
  type PodFailurePolicyOnPodConditionsPattern,
  type PodFailurePolicyRule,
  qualifiedName,
  repeatedAt,
  required,
  type SuccessPolicyRule,
  tooLong,
} from '@gantry/objects';
import { invalidAll, invalidOmitted, nonNegative } from '@gantry/apimachinery';
import { countIndexes } from './index-list.ts';
import { tooMany } from '../fields/bounded-lists.ts';

const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const MAX_PATTERNS = 20;
const MAX_INDEXES_BYTES = 64 * 1024;
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const OPERATORS = ['In', 'NotIn'];
const STATUSES = ['False', 'True', 'Unknown'];
const REPLACEMENTS = ['Failed', 'TerminatingOrFailed'];

function requiredOf(path: string, values: readonly string[]): FieldError {
  return required(path, `valid values: [${values.map((value) => JSON.stringify(value)).join(' ')}]`);
}

/** Checks the pod failure policy. */
export function validatePodFailurePolicy(spec: JobSpec, path: string): FieldError[] {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const { containers, initContainers } = spec.template?.spec ?? {};
  const names = new Set([...(containers ?? []), ...(initContainers ?? [])].map(({ name }) => name));
  return [
    ...(rules.length > MAX_RULES ? [tooMany(`${path}.rules`, rules.length, MAX_RULES)] : []),
    ...rules.flatMap((rule, i) => validateFailureRule(rule, spec, names, `${path}.rules[${i}]`)),
  ];
}

function validateFailureRule(
  rule: PodFailurePolicyRule,
  spec: JobSpec,
  names: ReadonlySet<string>,
  path: string,
): FieldError[] {
  const { action = '', onExitCodes } = rule;
  const patterns = rule.onPodConditions ?? [];
  const errors: FieldError[] = [];
  if (action === '') errors.push(requiredOf(`${path}.action`, ACTIONS));
  else if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) {
    errors.push(invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set'));
  } else append(errors, oneOf(`${path}.action`, action, ACTIONS));
  if (onExitCodes !== undefined) append(errors, validateExitCodes(onExitCodes, names, `${path}.onExitCodes`));
  append(errors, validatePatterns(patterns, `${path}.onPodConditions`));
  if (onExitCodes !== undefined && patterns.length > 0) {
    errors.push(invalidOmitted(path, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  }
  if (onExitCodes === undefined && patterns.length === 0) {
    errors.push(invalidOmitted(path, 'specifying one of OnExitCodes and OnPodConditions is required'));
  }
  return errors;
}

function validatePatterns(patterns: readonly PodFailurePolicyOnPodConditionsPattern[], path: string): FieldError[] {
  return [
    ...(patterns.length > MAX_PATTERNS ? [tooMany(path, patterns.length, MAX_PATTERNS)] : []),
    ...patterns.flatMap(({ type = '', status = '' }, i) => {
      const at = `${path}[${i}].status`;
      const errors = invalidAll(`${path}[${i}].type`, type, qualifiedName(type));
      if (status === '') errors.push(requiredOf(at, STATUSES));
      else append(errors, oneOf(at, status, STATUSES));
      return errors;
    }),
  ];
}

function validateExitCodes(
  requirement: PodFailurePolicyOnExitCodesRequirement,
  names: ReadonlySet<string>,
  path: string,
): FieldError[] {
  const { operator = '', containerName } = requirement;
  const values = requirement.values ?? [];
  const errors: FieldError[] = [];
  if (operator === '') errors.push(requiredOf(`${path}.operator`, OPERATORS));
  else append(errors, oneOf(`${path}.operator`, operator, OPERATORS));
  if (containerName !== undefined && !names.has(containerName)) {
    const detail = 'must be one of the container or initContainer names in the pod template';
    errors.push(invalid(`${path}.containerName`, containerName, detail));
  }
  const at = `${path}.values`;
  if (values.length === 0) errors.push(invalid(at, requirement.values ?? null, 'at least one value is required'));
  else if (values.length > MAX_EXIT_CODES) errors.push(tooMany(at, values.length, MAX_EXIT_CODES));
  const isRepeated = repeatedAt(values);
  values.forEach((value, i) => {
    if (operator === 'In' && value === 0) {
      errors.push(invalid(`${at}[${i}]`, value, 'must not be 0 for the In operator'));
    }
    if (isRepeated(i)) errors.push(duplicate(`${at}[${i}]`, value));
  });
  if (values.some((value, i) => i > 0 && (values[i - 1] ?? value) > value)) {
    errors.push(invalid(at, values, 'must be ordered'));
  }
  return errors;
}

/** Checks the success policy of an Indexed Job. */
export function validateSuccessPolicy({ successPolicy, completions = 0 }: JobSpec, path: string): FieldError[] {
  const rules = successPolicy?.rules ?? [];
  const errors: FieldError[] = [];
  if (rules.length === 0) {
    const detail = 'at least one rules must be specified when the successPolicy is specified';
    errors.push(required(`${path}.rules`, detail));
  }
  if (rules.length > MAX_RULES) errors.push(tooMany(`${path}.rules`, rules.length, MAX_RULES));
  return [...errors, ...rules.flatMap((rule, i) => validateSuccessRule(rule, completions, `${path}.rules[${i}]`))];
}

function validateSuccessRule(rule: SuccessPolicyRule, completions: number, path: string): FieldError[] {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  const errors: FieldError[] = [];
  if (count === undefined && indexes === undefined) {
    errors.push(required(path, 'at least one of succeededCount or succeededIndexes must be specified'));
  }
  let total = 0;
  if (indexes !== undefined) {
    const at = `${path}.succeededIndexes`;
    if (indexes.length > MAX_INDEXES_BYTES) errors.push(tooLong(at, MAX_INDEXES_BYTES));
    const found = countIndexes(indexes, completions);
    if (typeof found === 'number') total = found;
    else errors.push(invalid(at, indexes, `error parsing succeededIndexes: ${found.fault}`));
  }
  if (count === undefined) return errors;
  const at = `${path}.succeededCount`;
  append(errors, nonNegative(at, count));
  const atMost = (limit: number, what: string) => {
    if (count > limit)
      errors.push(invalid(at, count, `must be less than or equal to ${limit} (the number of ${what})`));
  };
  atMost(completions, 'specified completions');
  if (indexes !== undefined) atMost(total, 'indexes in the specified succeededIndexes field');
  return errors;
}

/** Checks when a terminating pod is replaced. With a failure policy, only after it has failed. */
export function validateReplacementPolicy(spec: JobSpec, path: string): FieldError[] {
  const { podReplacementPolicy: policy, podFailurePolicy } = spec;
  const supported = podFailurePolicy === undefined ? REPLACEMENTS : ['Failed'];
  return oneOf(path, policy, supported);
}
