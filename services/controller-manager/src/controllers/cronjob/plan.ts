import type { Instant, Plan } from '@gantry/base';
import { formatZonedTime, timeZone, timeZoneFault } from '@gantry/kinds';
import { cloneJson, controllerReference, type CronJob, type CronJobStatus, equalJson, type Job } from '@gantry/objects';
import { endOf, isListed, withActive, withoutJobs, withScheduled, withStarted, withSuccess } from './cron-status.ts';
import { findMissedTimes, nextLook, scheduleOf } from './missed-times.ts';

/** The input of the plan. */
export interface ObservedCronJob {
  readonly cronJob: CronJob;
  /** The Jobs that it controls. */
  readonly jobs: readonly Job[];
  /** Uids of listed Jobs that do not exist in the store. */
  readonly missing: ReadonlySet<string>;
  /** Lasting conditions that this term has reported: each is reported once. */
  readonly reported: ReadonlySet<string>;
}

/** An Event about the CronJob. */
export interface CronJobReport {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type Action =
  | { readonly kind: 'deleteJob'; readonly uid: string; readonly name: string; readonly cause: 'history' | 'replaced' }
  /** The status to write after all other actions; a later action of this kind replaces it. */
  | { readonly kind: 'updateStatus'; readonly status: CronJobStatus }
  /** Creates a Job, and adds it to this status. */
  | { readonly kind: 'startJob'; readonly job: Job; readonly scheduledAt: Instant; readonly status: CronJobStatus }
  | { readonly kind: 'report'; readonly report: CronJobReport }
  /** The lasting conditions that are true now. */
  | { readonly kind: 'remember'; readonly reported: ReadonlySet<string> };

/**
 * Actions that limit the history of a CronJob's Jobs and start the Job whose scheduled time has come. Of several missed times, only the
 * latest counts. Executing the actions and planning again yields none, with one exception: a Job that the CronJob neither started nor lists
 * is reported at each reconcile, as in Kubernetes.
 */
export function planCronJob(observed: ObservedCronJob, now: Instant): Plan<Action> {
  const { cronJob, jobs } = observed;
  const surplus = surplusJobs(cronJob, jobs);
  const seen = lookAtJobs(observed, surplus);
  const { start, reports, requeueAt } = planStart({ ...cronJob, status: seen.status }, jobs, now);
  const reported = new Set(reports.map(({ key }) => key));
  return {
    actions: [
      ...surplus.map(({ metadata }) => deletion(metadata, 'history')),
      ...(equalJson(seen.status, cronJob.status ?? {}) ? [] : [{ kind: 'updateStatus', status: seen.status } as const]),
      ...[...seen.reports, ...reports.filter(({ key }) => !observed.reported.has(key))].map(
        ({ type, reason, message }): Action => ({ kind: 'report', report: { type, reason, message } }),
      ),
      ...(equalJson([...reported], [...observed.reported]) ? [] : [{ kind: 'remember', reported } as const]),
      ...start,
    ],
    requeueAt,
  };
}

/** The effect of the Jobs on the status, and the reports about them. */
function lookAtJobs({ cronJob, jobs, missing }: ObservedCronJob, surplus: readonly Job[]) {
  let status = withoutJobs(cronJob.status ?? {}, new Set(surplus.map(({ metadata }) => metadata.uid)));
  const reports: CronJobReport[] = [];
  for (const job of jobs) {
    const { uid, name = '' } = job.metadata;
    const end = endOf(job);
    if (end === undefined) {
      if (!isListed(status, uid)) reports.push(unexpectedJob(name));
      continue;
    }
    if (isListed(status, uid)) {
      status = withoutJobs(status, new Set([uid]));
      reports.push(sawCompleted(name, end));
    }
    status = withSuccess(status, job);
  }
  for (const { uid = '', name = '' } of status.active ?? []) {
    if (!missing.has(uid)) continue;
    reports.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` });
  }
  return { status: withoutJobs(status, missing), reports };
}

interface PlannedStart {
  readonly start: readonly Action[];
  readonly reports: readonly LastingReport[];
  readonly requeueAt?: Instant | undefined;
}

/** A report of a lasting condition; the key identifies it. */
interface LastingReport extends CronJobReport {
  readonly key: string;
}

function planStart(
  cronJob: CronJob & { readonly status: CronJobStatus },
  jobs: readonly Job[],
  now: Instant,
): PlannedStart {
  const { metadata, spec, status } = cronJob;
  const nothing = { start: [], reports: [] };
  if (metadata.deletionTimestamp !== undefined) return nothing;
  const zoneFault = spec.timeZone === undefined ? undefined : timeZoneFault(spec.timeZone);
  if (zoneFault !== undefined) {
    const message = `invalid timeZone: ${JSON.stringify(spec.timeZone)}: ${zoneFault}`;
    return { ...nothing, reports: [lasting(warning('UnknownTimeZone', message))] };
  }
  if (spec.suspend === true) return nothing;
  const notes = spec.schedule.includes('TZ')
    ? [lasting(warning('UnsupportedSchedule', unsupported(spec.schedule)))]
    : [];
  const schedule = scheduleOf(cronJob);
  if ('fault' in schedule) {
    const message = `unparseable schedule: ${JSON.stringify(spec.schedule)} : ${schedule.fault}`;
    return { ...nothing, reports: [...notes, lasting(warning('UnparseableSchedule', message))] };
  }
  const missed = findMissedTimes(cronJob, schedule, now, 'applied');
  if (missed === undefined) {
    const fault = 'time difference between two schedules is less than 1 second';
    const message = `invalid schedule: ${spec.schedule} : ${fault}`;
    return { ...nothing, reports: [...notes, lasting(warning('InvalidSchedule', message))] };
  }
  const { recent } = missed;
  const waiting = { start: [], reports: notes, requeueAt: nextLook(cronJob, schedule, now) };
  if (recent === undefined) return waiting;
  const reports = missed.count === 'many' ? [...notes, lasting(TOO_MANY_MISSED, recent)] : notes;
  if (recent + (spec.startingDeadlineSeconds ?? Infinity) * 1000 < now) {
    const time = new Date(recent).toUTCString().replace('GMT', '+0000');
    const report = warning('MissSchedule', `Missed scheduled time to start a job: ${time}`);
    return { ...waiting, reports: [...reports, lasting(report, recent)] };
  }
  const active = status.active ?? [];
  const isStarted = active.some(({ name }) => name === jobName(cronJob, recent));
  if (isStarted || Date.parse(status.lastScheduleTime ?? '') === recent) return { ...waiting, reports };
  if (spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
    return { ...waiting, reports: [...reports, lasting(ALREADY_ACTIVE, recent)] };
  }
  const replaced = spec.concurrencyPolicy === 'Replace' ? active : [];
  const left = replaced.length > 0 ? withActive(status, []) : status;
  const job = newCronJobJob(cronJob, recent);
  const existing = jobs.find(({ metadata }) => metadata.name === job.metadata.name);
  const start: readonly Action[] =
    existing === undefined
      ? [{ kind: 'startJob', job, scheduledAt: recent, status: left }]
      : takeOver(existing, left, recent);
  const started = { ...cronJob, status: { ...status, lastScheduleTime: new Date(recent).toISOString() } };
  return {
    start: [...replaced.map((reference) => deletion(reference, 'replaced')), ...start],
    reports,
    requeueAt: nextLook(started, schedule, now),
  };
}

/**
 * Records a Job that an earlier leader started before it died without writing the status. The Job is not created again: the API would
 * reject that, unless the Job had ended and been deleted meanwhile.
 */
function takeOver(job: Job, status: CronJobStatus, scheduledAt: Instant): Action[] {
  const end = endOf(job);
  if (end === undefined) return [{ kind: 'updateStatus', status: withStarted(status, job, scheduledAt) }];
  return [
    { kind: 'updateStatus', status: withScheduled(status, scheduledAt) },
    { kind: 'report', report: sawCompleted(job.metadata.name ?? '', end) },
  ];
}

function sawCompleted(name: string, end: string): CronJobReport {
  return { type: 'Normal', reason: 'SawCompletedJob', message: `Saw completed job: ${name}, condition: ${end}` };
}

const TOO_MANY_MISSED = warning(
  'TooManyMissedTimes',
  'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
);
const ALREADY_ACTIVE: CronJobReport = {
  type: 'Normal',
  reason: 'JobAlreadyActive',
  message: 'Not starting job because prior execution is running and concurrency policy is Forbid',
};

function deletion(
  { uid = '', name = '' }: { readonly uid?: string; readonly name?: string },
  cause: 'history' | 'replaced',
): Action {
  return { kind: 'deleteJob', uid, name, cause };
}

function warning(reason: string, message: string): CronJobReport {
  return { type: 'Warning', reason, message };
}

/** A report that is made once per scheduled time. */
function lasting(report: CronJobReport, about?: Instant): LastingReport {
  return { ...report, key: [report.reason, report.message, about ?? ''].join('\n') };
}

function unexpectedJob(name: string): CronJobReport {
  return warning('UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`);
}

function unsupported(schedule: string): string {
  const where = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/';
  return `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported, see ${where} for more details`;
}

/** Ended Jobs beyond the history limits, oldest first. Jobs that are being deleted count as kept until they are deleted. */
function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec;
  return [
    ...beyond(
      jobs.filter((job) => endOf(job) === 'Complete'),
      successfulJobsHistoryLimit,
    ),
    ...beyond(
      jobs.filter((job) => endOf(job) === 'Failed'),
      failedJobsHistoryLimit,
    ),
  ].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

function beyond(jobs: readonly Job[], limit = Infinity): readonly Job[] {
  return [...jobs].sort(byStart).slice(0, Math.max(0, jobs.length - limit));
}

/** Orders by start time, then by name; a Job that has not started is last. */
function byStart(a: Job, b: Job): number {
  const start = ({ status }: Job) => (status?.startTime === undefined ? Infinity : Date.parse(status.startTime));
  if (start(a) !== start(b)) return start(a) < start(b) ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** The time for which a Job was started, in the time zone of its CronJob. */
const SCHEDULED_TIMESTAMP = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** The name of the Job for a scheduled time. Each time has exactly one name, so that no time starts two Jobs. */
export function jobName({ metadata }: CronJob, scheduledAt: Instant): string {
  return `${metadata.name ?? ''}-${Math.floor(scheduledAt / 60_000)}`;
}

export function newCronJobJob(cronJob: CronJob, scheduledAt: Instant): Job {
  const { metadata = {}, spec } = cloneJson(cronJob.spec.jobTemplate);
  const time = formatZonedTime(scheduledAt, timeZone(cronJob.spec.timeZone ?? ''));
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(cronJob, scheduledAt),
      namespace: cronJob.metadata.namespace ?? '',
      labels: metadata.labels,
      annotations: { ...metadata.annotations, [SCHEDULED_TIMESTAMP]: time },
      ownerReferences: [controllerReference(cronJob)],
    },
    spec,
  };
}
