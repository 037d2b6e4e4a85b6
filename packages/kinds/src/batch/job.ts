import { append } from '@gantry/base';
import type { Instant } from '@gantry/base';
import { type FieldError, JOBS, type Job, type JobSpec, dns1123Label, invalid, required } from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  formatDuration,
  isEmptySelector,
  nameColumn,
  selectorMatches,
  validateLabelSelector,
} from '@gantry/apimachinery';
import { surprisingName } from '../workloads/name-warnings.ts';
import { defaultJobSpec, defaultJobTemplate, jobWarnings, validateJobSpec } from './job-spec.ts';
import { isJobCondition, validateJobStatusChange } from './job-status.ts';
import { validateJobChange } from './job-update.ts';
import { statusSubresource, keepStatus } from '../fields/status.ts';
import { workloadColumns } from '../workloads/columns.ts';

const UID = 'batch.kubernetes.io/controller-uid';
const NAME = 'batch.kubernetes.io/job-name';
/** The old, unprefixed names of these labels; pods still get them. */
const OLD_UID = 'controller-uid';
const OLD_NAME = 'job-name';

function applyDefaults(object: Job): void {
  const spec = (object.spec ??= { template: {} });
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined && Object.keys(object.metadata.labels ?? {}).length === 0) {
    object.metadata.labels = labels;
  }
  defaultJobSpec(spec);
  defaultJobTemplate(spec);
}

function prepareForCreate(object: Job): void {
  object.status = {};
  const { spec } = object;
  if (spec !== undefined && spec.manualSelector !== true) generateSelector(object, spec);
}

/**
 * Sets the selector to the Job's uid. Labels that the client has set stay, and are rejected if they contradict. A Job whose labels default
 * to those of its template shares them and gets the generated ones too; a copy for a generated name shares nothing.
 */
function generateSelector({ metadata }: Job, spec: JobSpec): void {
  const { name = '', uid = '' } = metadata;
  const template = (spec.template ??= {});
  const meta = (template.metadata ??= {});
  const isShared = metadata.labels !== undefined && metadata.labels === meta.labels;
  meta.labels = { [OLD_NAME]: name, [NAME]: name, [OLD_UID]: uid, [UID]: uid, ...meta.labels };
  if (isShared) metadata.labels = { ...meta.labels };
  const selector = (spec.selector ??= {});
  selector.matchLabels = { [UID]: uid, ...selector.matchLabels };
}

/** Old Jobs have only the unprefixed generated labels. */
function validate(object: Job, old?: Job): FieldError[] {
  const labels = old?.spec?.template?.metadata?.labels ?? {};
  const arePrefixed = old === undefined || (labels[NAME] !== undefined && labels[UID] !== undefined);
  const spec = object.spec ?? { template: {} };
  const { name = '' } = object.metadata;
  const errors = [...validateGenerated(object, arePrefixed), ...validateWhole(spec)];
  const { completionMode, completions = 0 } = spec;
  if (completionMode !== 'Indexed' || completions <= 0) return errors;
  const hostname = `${name}-${completions - 1}`;
  return dns1123Label(hostname).length === 0
    ? errors
    : [...errors, invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${hostname}`)];
}

/** Checks the spec including the selector, which Job templates do not have. */
function validateWhole(spec: JobSpec): FieldError[] {
  const selector = spec.selector ?? undefined;
  const errors = validateJobSpec(spec, 'spec');
  const faults = validateLabelSelector(selector, 'spec.selector');
  if (selector === undefined) errors.push(required('spec.selector'));
  append(errors, faults);
  const labels = spec.template?.metadata?.labels;
  const isMatch = selector !== undefined && (isEmptySelector(selector) || selectorMatches(selector, labels ?? {}));
  if (faults.length === 0 && !isMatch) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalid('spec.template.metadata.labels', labels ?? null, detail));
  }
  return errors;
}

/** Checks that a generated selector and its labels are the Job's own. */
function validateGenerated({ metadata, spec }: Job, arePrefixed: boolean): FieldError[] {
  const selector = spec?.selector ?? undefined;
  if (spec?.manualSelector === true || selector === undefined) return [];
  const { name = '', uid = '' } = metadata;
  const expected: Record<string, string> = { [OLD_UID]: uid, [OLD_NAME]: name };
  if (arePrefixed) Object.assign(expected, { [UID]: uid, [NAME]: name });
  const labels = spec?.template?.metadata?.labels ?? {};
  const errors = Object.entries(expected).flatMap(([key, value]) => validateHasLabel(labels, key, value));
  if (uid === '') errors.unshift(required('metadata.uid'));
  const isSound = validateLabelSelector(selector, '').length === 0;
  if (isSound && !selectorMatches(selector, expected)) {
    errors.push(invalid('spec.selector', selector, '`selector` not auto-generated'));
  }
  return errors;
}

function validateHasLabel(labels: Readonly<Record<string, string>>, key: string, expected: string): FieldError[] {
  const path = 'spec.template.metadata.labels';
  const actual = labels[key];
  if (actual === undefined) return [required(`${path}[${key}]`, `must be '${expected}'`)];
  return actual === expected ? [] : [invalid(`${path}[${key}]`, labels, `must be '${expected}'`)];
}

function validateUpdate(object: Job, old: Job): FieldError[] {
  return [...validateWhole(object.spec ?? { template: {} }), ...validateJobChange(object, old)];
}

function statusOf(job: Job): string {
  if (isJobCondition(job, 'Complete')) return 'Complete';
  if (isJobCondition(job, 'Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return (
    (['Suspended', 'FailureTarget', 'SuccessCriteriaMet'] as const).find((type) => isJobCondition(job, type)) ??
    'Running'
  );
}

function completionsOf({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf({ status }: Job, now: Instant): string {
  const { startTime, completionTime } = status ?? {};
  if (startTime === undefined) return '';
  return formatDuration((completionTime === undefined ? now : Date.parse(completionTime)) - Date.parse(startTime));
}

export const jobs = defineResource(JOBS, {
  categories: ['all'],
  schema: 'batch.v1.Job',
  strategy: {
    applyDefaults,
    prepareForCreate,
    prepareForUpdate: keepStatus,
    validate,
    validateUpdate,
    metadataOnUpdate: 'whole first',
    warnings: ({ metadata, spec }, old) => [
      ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
      ...jobWarnings(spec, old?.spec, 'spec'),
    ],
    hasGeneration: true,
    defaultPropagation: 'orphan',
  },
  subresources: [statusSubresource(validateJobStatusChange)],
  podTemplate: ({ spec }) => spec?.template,
  columns: [
    nameColumn,
    column('Status', 'Status of the job.', statusOf),
    column('Completions', describedAs('batch.v1.JobStatus', 'succeeded'), completionsOf),
    column('Duration', 'Time required to complete the job.', durationOf),
    ageColumn,
    ...workloadColumns(
      'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
    ),
  ],
  fieldSelectorError: (field) => `field label ${JSON.stringify(field)} not supported for Job`,
  selectableFields: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },
});
