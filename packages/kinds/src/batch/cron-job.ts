import { append } from '@gantry/base';
import {
  CRON_JOBS,
  type CronJob,
  type CronJobSpec,
  type FieldError,
  type JobTemplateSpec,
  invalid,
  required,
  oneOf,
} from '@gantry/objects';
import {
  describedAs,
  ageColumn,
  column,
  defineResource,
  formatAge,
  formatLabelSelector,
  nameColumn,
  nonNegative,
  unsupported,
  fieldColumn,
} from '@gantry/apimachinery';
import { surprisingName } from '../workloads/name-warnings.ts';
import { scheduleFault } from './cron-schedule.ts';
import { timeZoneFault } from './time-zone.ts';
import { defaultJobTemplate, jobWarnings, validateJobSpec } from './job-spec.ts';
import { statusSubresource, keepStatus } from '../fields/status.ts';
import { formatContainers } from '../workloads/columns.ts';

const POLICIES = ['Allow', 'Forbid', 'Replace'];
/** A Job's name is that of its CronJob plus eleven characters for the minute. */
const MAX_NAME = 52;
const ZONE_PART = /^[A-Za-z.\-_0-9+]{1,14}$/;

function applyDefaults(object: CronJob): void {
  const spec = (object.spec ??= { schedule: '', jobTemplate: {} });
  if ((spec.concurrencyPolicy ?? '') === '') spec.concurrencyPolicy = 'Allow';
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
  const template = (spec.jobTemplate ??= {});
  const job = (template.spec ??= { template: {} });
  // A missing pod template is created, so that defaults fill it.
  const pod = (job.template ??= {});
  pod.spec ??= { containers: [] };
  defaultJobTemplate(job);
}

function validateSpec(spec: Partial<CronJobSpec>, old: Partial<CronJobSpec> | undefined): FieldError[] {
  const errors = [
    ...validateSchedule(spec, old?.schedule ?? ''),
    ...nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds),
  ];
  if (old === undefined || old.timeZone !== spec.timeZone) append(errors, validateTimeZone(spec.timeZone));
  const policy = spec.concurrencyPolicy ?? '';
  if (policy === '') errors.push(required('spec.concurrencyPolicy'));
  else append(errors, oneOf('spec.concurrencyPolicy', policy, POLICIES));
  return [
    ...errors,
    ...validateTemplate(spec.jobTemplate ?? {}, 'spec.jobTemplate.spec'),
    ...nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit),
    ...nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit),
  ];
}

/** A time zone inside the schedule stays valid if the stored schedule has one: there was no field for it before. */
function validateSchedule({ schedule = '', timeZone }: Partial<CronJobSpec>, before: string): FieldError[] {
  const path = 'spec.schedule';
  if (schedule === '') return [required(path)];
  const fault = scheduleFault(schedule);
  const errors = fault === undefined ? [] : [invalid(path, schedule, fault)];
  if (!schedule.includes('TZ')) return errors;
  if (!before.includes('TZ')) {
    errors.push(invalid(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  } else if (timeZone !== undefined) {
    errors.push(invalid(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  }
  return errors;
}

function validateTimeZone(zone: string | undefined): FieldError[] {
  const path = 'spec.timeZone';
  if (zone === undefined) return [];
  if (zone === '') return [invalid(path, zone, 'timeZone must be nil or non-empty string')];
  const isName = zone
    .split('/')
    .every((part) => part !== '.' && part !== '..' && !part.startsWith('-') && ZONE_PART.test(part));
  if (!isName) return [invalid(path, zone, `unknown time zone ${zone}`)];
  const errors: FieldError[] = [];
  if (zone.toLowerCase() === 'local') {
    const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    errors.push(invalid(path, zone, detail));
  }
  const fault = timeZoneFault(zone);
  return fault === undefined ? errors : [...errors, invalid(path, zone, fault)];
}

function validateTemplate({ spec = { template: {} } }: JobTemplateSpec, path: string): FieldError[] {
  const errors = validateJobSpec(spec, path);
  if (spec.selector !== undefined) {
    errors.push(invalid(`${path}.selector`, spec.selector, '`selector` will be auto-generated'));
  }
  if (spec.manualSelector === true) errors.push(unsupported(`${path}.manualSelector`, true, ['nil', 'false']));
  return errors;
}

function validateCreate({ metadata, spec }: CronJob): FieldError[] {
  const errors = validateSpec(spec ?? {}, undefined);
  const { name = '' } = metadata;
  if (name.length > MAX_NAME) {
    errors.push(invalid('metadata.name', name, `must be no more than ${MAX_NAME} characters`));
  }
  return errors;
}

function warnings({ metadata, spec }: CronJob, old?: CronJob): string[] {
  const texts = [
    ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
    ...jobWarnings(spec?.jobTemplate?.spec, old?.spec?.jobTemplate?.spec, 'spec.jobTemplate.spec'),
  ];
  if (old !== undefined && (spec?.schedule ?? '').includes('TZ')) {
    texts.push(
      // The path is Kubernetes'.
      'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
    );
  }
  return texts;
}

export const cronJobs = defineResource(CRON_JOBS, {
  shortNames: ['cj'],
  categories: ['all'],
  schema: 'batch.v1.CronJob',
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: keepStatus,
    validateCreate,
    validateUpdate: (object, old) => validateSpec(object.spec ?? {}, old.spec ?? {}),
    metadataOnUpdate: 'change',
    warnings,
    hasGeneration: true,
  },
  subresources: [statusSubresource()],
  podTemplate: ({ spec }) => spec?.jobTemplate?.spec?.template,
  columns: [
    nameColumn,
    fieldColumn('Schedule', 'batch.v1.CronJobSpec', 'spec.schedule'),
    fieldColumn('Timezone', 'batch.v1.CronJobSpec', 'spec.timeZone', { none: '<none>' }),
    column(
      'Suspend',
      describedAs('batch.v1.CronJobSpec', 'suspend'),
      ({ spec }) => (spec?.suspend === true ? 'True' : 'False'),
      {
        type: 'boolean',
      },
    ),
    column('Active', describedAs('batch.v1.CronJobStatus', 'active'), ({ status }) => (status?.active ?? []).length, {
      type: 'integer',
    }),
    column('Last Schedule', describedAs('batch.v1.CronJobStatus', 'lastScheduleTime'), ({ status }, now) =>
      status?.lastScheduleTime === undefined ? '<none>' : formatAge(status.lastScheduleTime, now),
    ),
    ageColumn,
    column(
      'Containers',
      'Names of each container in the template.',
      (object) => formatContainers(podOf(object), 'name'),
      {
        wide: 'wide',
      },
    ),
    column(
      'Images',
      'Images referenced by each container in the template.',
      (object) => formatContainers(podOf(object), 'image'),
      {
        wide: 'wide',
      },
    ),
    column(
      'Selector',
      'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
      ({ spec }) => formatLabelSelector(spec?.jobTemplate?.spec?.selector),
      {
        wide: 'wide',
      },
    ),
  ],
});

function podOf({ spec }: CronJob) {
  return spec?.jobTemplate?.spec?.template;
}
