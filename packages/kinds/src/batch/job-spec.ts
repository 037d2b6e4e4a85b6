import { append } from '@gantry/base';
import {
  type FieldError,
  type JobSpec,
  dns1123Subdomain,
  invalid,
  patternMessage,
  required,
  tooLong,
} from '@gantry/objects';
import { invalidAll, nonNegative, unsupported } from '@gantry/apimachinery';
import { validatePodFailurePolicy, validateReplacementPolicy, validateSuccessPolicy } from './job-policies.ts';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validatePodTemplate } from '../pod-spec/template.ts';
import { templateWarnings } from '../pod-spec/warnings.ts';

const MAX_INT32 = 2147483647;
const MAX_PARALLELISM = 100_000;
const MAX_FAILED_INDEXES = 100_000;
/** Indexed Jobs with more completions have tighter limits. */
const MANY_COMPLETIONS = 100_000;
const PARALLELISM_OF_MANY = 10_000;
const FAILED_INDEXES_OF_MANY = 10_000;
const MAX_MANAGER_BYTES = 63;
const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;
const PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Defaults of a Job that the template of a CronJob does not have. */
export function defaultJobSpec(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
}

/** Defaults that Jobs and their templates share. */
export function defaultJobTemplate(spec: JobSpec): void {
  for (const { onPodConditions } of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of onPodConditions ?? []) {
      if ((pattern.status ?? '') === '') pattern.status = 'True';
    }
  }
  defaultPodTemplate(spec.template);
}

/** Checks the spec of a Job or a Job template, except for its selector. */
export function validateJobSpec(spec: JobSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of COUNTS) append(errors, nonNegative(`${path}.${field}`, spec[field]));
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
  if (spec.managedBy !== undefined) append(errors, validateManager(spec.managedBy, `${path}.managedBy`));
  append(errors, validateMode(spec, path));
  if (spec.podFailurePolicy !== undefined) append(errors, validatePodFailurePolicy(spec, `${path}.podFailurePolicy`));
  if (spec.successPolicy !== undefined) {
    if (spec.completionMode === 'Indexed') append(errors, validateSuccessPolicy(spec, `${path}.successPolicy`));
    else errors.push(invalid(`${path}.successPolicy`, printedPolicy(spec), 'requires indexed completion mode'));
  }
  append(errors, validateReplacementPolicy(spec, `${path}.podReplacementPolicy`));
  append(errors, validatePodTemplate(spec.template, `${path}.template`));
  return [...errors, ...validateRestartPolicy(spec, `${path}.template.spec.restartPolicy`)];
}

/** As Kubernetes prints it in messages. */
function printedPolicy({ successPolicy }: JobSpec): object {
  const rules = (successPolicy?.rules ?? []).map(({ succeededIndexes, succeededCount }) => ({
    SucceededIndexes: succeededIndexes ?? null,
    SucceededCount: succeededCount ?? null,
  }));
  return { Rules: successPolicy?.rules === undefined ? null : rules };
}

function validateManager(manager: string, path: string): FieldError[] {
  const errors = validatePrefixedPath(manager, path);
  if (Buffer.byteLength(manager) > MAX_MANAGER_BYTES) errors.push(tooLong(path, MAX_MANAGER_BYTES));
  return errors;
}

function validatePrefixedPath(text: string, path: string): FieldError[] {
  if (text === '') return [required(path)];
  const slash = text.indexOf('/');
  const domain = text.slice(0, Math.max(0, slash));
  const rest = text.slice(slash + 1);
  if (domain === '' || rest === '') {
    return [invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const errors = invalidAll(path, domain, dns1123Subdomain(domain));
  if (!PATH.test(rest)) errors.push(invalid(path, rest, patternMessage('Invalid path', PATH).replace('e.g. ', '')));
  return errors;
}

function validateMode(spec: JobSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { completionMode: mode, backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (mode !== undefined && mode !== 'Indexed' && mode !== 'NonIndexed') {
    errors.push(unsupported(`${path}.completionMode`, mode, ['NonIndexed', 'Indexed']));
  }
  if (mode === 'Indexed') append(errors, validateIndexed(spec, path));
  if (mode !== undefined && mode !== 'NonIndexed') return errors;
  const detail = 'requires indexed completion mode';
  if (backoffLimitPerIndex !== undefined) {
    errors.push(invalid(`${path}.backoffLimitPerIndex`, backoffLimitPerIndex, detail));
  }
  if (maxFailedIndexes !== undefined) errors.push(invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, detail));
  return errors;
}

function validateIndexed(spec: JobSpec, path: string): FieldError[] {
  const { completions, parallelism, maxFailedIndexes: maxFailed, backoffLimitPerIndex } = spec;
  const errors: FieldError[] = [];
  const atMost = (
    field: 'parallelism' | 'maxFailedIndexes',
    value: number | undefined,
    limit: number,
    what: string,
  ) => {
    if (value !== undefined && value > limit)
      errors.push(invalid(`${path}.${field}`, value, `must be less than or equal to ${what}`));
  };
  if (completions === undefined) errors.push(required(`${path}.completions`, 'when completion mode is Indexed'));
  atMost('parallelism', parallelism, MAX_PARALLELISM, `${MAX_PARALLELISM} when completion mode is Indexed`);
  if (completions !== undefined) atMost('maxFailedIndexes', maxFailed, completions, 'completions');
  atMost('maxFailedIndexes', maxFailed, MAX_FAILED_INDEXES, String(MAX_FAILED_INDEXES));
  if (completions === undefined || completions <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return errors;
  const many = `when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (maxFailed === undefined) {
    errors.push(
      required(`${path}.maxFailedIndexes`, `must be specified when completions is above ${MANY_COMPLETIONS}`),
    );
  }
  atMost('parallelism', parallelism, PARALLELISM_OF_MANY, `${PARALLELISM_OF_MANY} ${many}`);
  atMost('maxFailedIndexes', maxFailed, FAILED_INDEXES_OF_MANY, `${FAILED_INDEXES_OF_MANY} ${many}`);
  return errors;
}

function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const policy = template?.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always') return [required(path, 'valid values: "OnFailure", "Never"')];
  if (policy !== 'OnFailure' && policy !== 'Never') return [unsupported(path, policy, ['OnFailure', 'Never'])];
  return podFailurePolicy === undefined || policy === 'Never'
    ? []
    : [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')];
}

/** Warnings about valid but probably unintended values in a Job's spec. */
export function jobWarnings(spec: JobSpec | undefined, old: JobSpec | undefined, path: string): string[] {
  if (spec === undefined) return [];
  const { completionMode, completions = 0, parallelism = 0 } = spec;
  const isVast = completions > MANY_COMPLETIONS && parallelism > PARALLELISM_OF_MANY;
  return [
    ...(completionMode === 'Indexed' && isVast
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...templateWarnings(spec.template, old?.template, `${path}.template`),
  ];
}
