import { readFileSync } from 'node:fs';
import { formatTime, type Instant } from '@gantry/base';
import { controllerReference, type CronJob, type CronJobStatus, type Job } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { exampleJob } from '../../testing/job-objects.ts';
import { withStarted } from './cron-status.ts';
import { waitAfterChange } from './missed-times.ts';
import { type Action, jobName, newCronJobJob, type ObservedCronJob, planCronJob } from './plan.ts';

/** Times start on 2026-01-01, a Thursday. Hours may exceed 24. */
interface Case {
  readonly name: string;
  readonly schedule: string;
  readonly timeZone?: string;
  readonly policy?: string;
  readonly suspend?: boolean;
  readonly deleting?: boolean;
  readonly deadline?: number;
  /** The history limits for succeeded and failed Jobs. */
  readonly history?: readonly [number, number];
  readonly created: string;
  readonly now: string;
  readonly last?: string;
  readonly success?: string;
  readonly jobs?: readonly {
    readonly name: string;
    readonly end?: string;
    readonly ended?: string;
    readonly started?: string;
  }[];
  /** Names of the listed Jobs; their uids are their names. */
  readonly active?: readonly string[];
  readonly missing?: readonly string[];
  readonly want: {
    readonly delete?: readonly string[];
    /** The last status that is written, except the one that lists a new Job. */
    readonly status?: CronJobStatus;
    readonly start?: string;
    readonly timestamp?: string;
    /** Names listed in addition to the started one. */
    readonly listed?: readonly string[];
    readonly reports?: readonly string[];
    readonly requeue?: string;
  };
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];
const MIDNIGHT: Instant = Date.parse('2026-01-01T00:00:00Z');

function at(text: string): Instant {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  return MIDNIGHT + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

const time = (text: string | undefined, field: string) => (text === undefined ? {} : { [field]: formatTime(at(text)) });

function observe(example: Case): ObservedCronJob {
  const { schedule, timeZone, policy = 'Allow', suspend = false, deadline, history, active = [] } = example;
  const cronJob: CronJob = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: {
      name: 'tick',
      namespace: 'n',
      uid: 'cron',
      ...time(example.created, 'creationTimestamp'),
      ...(example.deleting === true ? time(example.now, 'deletionTimestamp') : {}),
    },
    spec: {
      schedule,
      concurrencyPolicy: policy,
      suspend,
      jobTemplate: {},
      ...(timeZone === undefined ? {} : { timeZone }),
      ...(deadline === undefined ? {} : { startingDeadlineSeconds: deadline }),
      ...(history === undefined ? {} : { successfulJobsHistoryLimit: history[0], failedJobsHistoryLimit: history[1] }),
    },
    status: {
      ...(active.length === 0 ? {} : { active: active.map((name) => ({ name, uid: name, namespace: 'n' })) }),
      ...time(example.last, 'lastScheduleTime'),
      ...time(example.success, 'lastSuccessfulTime'),
    },
  };
  const jobs = (example.jobs ?? []).map(({ name, end, ended, started }): Job => {
    const job = exampleJob({});
    const conditions = end === undefined ? {} : { conditions: [{ type: end, status: 'True' }] };
    return {
      ...job,
      metadata: { ...job.metadata, name, uid: name, ownerReferences: [controllerReference(cronJob)] },
      status: { ...conditions, ...time(ended, 'completionTime'), ...time(started, 'startTime') },
    };
  });
  return { cronJob, jobs, missing: new Set(example.missing), reported: new Set() };
}

function outcomeOf(actions: readonly Action[]) {
  const start = actions.find((action) => action.kind === 'startJob');
  return {
    delete: actions.flatMap((action) => (action.kind === 'deleteJob' ? [`${action.cause} ${action.name}`] : [])),
    status: actions.flatMap((action) => (action.kind === 'updateStatus' ? [action.status] : [])).at(-1),
    start: start?.job.metadata.name,
    timestamp: start?.job.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
    listed: (start?.status.active ?? []).map(({ name }) => name),
    reports: actions.flatMap((action) =>
      action.kind === 'report' ? [`${action.report.type} ${action.report.reason}: ${action.report.message}`] : [],
    ),
  };
}

/** What is observed after the actions were carried out. */
function carryOut(observed: ObservedCronJob, actions: readonly Action[]): ObservedCronJob {
  let { cronJob, jobs, reported } = observed;
  for (const action of actions) {
    if (action.kind === 'deleteJob') jobs = jobs.filter(({ metadata }) => metadata.uid !== action.uid);
    if (action.kind === 'updateStatus') cronJob = { ...cronJob, status: action.status };
    if (action.kind === 'remember') reported = action.reported;
    if (action.kind !== 'startJob') continue;
    const started = { ...action.job, metadata: { ...action.job.metadata, uid: action.job.metadata.name ?? '' } };
    jobs = [...jobs, started];
    cronJob = { ...cronJob, status: withStarted(action.status, started, action.scheduledAt) };
  }
  return { cronJob, jobs, reported, missing: new Set() };
}

/** What another reconcile writes and reports, without the unexpected Jobs, which are reported each time. */
const planAgain = (observed: ObservedCronJob, now: Instant) =>
  planCronJob(observed, now).actions.filter((action) => action.kind !== 'remember' && !isUnexpectedJob(action));

const isUnexpectedJob = (action: Action) => action.kind === 'report' && action.report.reason === 'UnexpectedJob';

describe('planCronJob', () => {
  test.each(CASES)('$name', (example) => {
    const { want } = example;
    const observed = observe(example);
    const plan = planCronJob(observed, at(example.now));
    expect(outcomeOf(plan.actions)).toEqual({
      delete: want.delete ?? [],
      status: want.status,
      start: want.start,
      timestamp: want.timestamp,
      listed: want.listed ?? [],
      reports: want.reports ?? [],
    });
    expect(plan.requeueAt).toBe(want.requeue === undefined ? undefined : at(want.requeue));
    // A lasting state is reported only once.
    expect(planAgain(carryOut(observed, plan.actions), at(example.now))).toEqual([]);
  });

  it('starts each time at most once, and the last one always, however its looks fall', () => {
    const looks = fc.array(fc.nat({ max: 2000 }), { minLength: 1, maxLength: 60 });
    const schedules = fc.constantFrom('* * * * *', '*/7 * * * *', '13 2-20/3 * * *', '@every 11m');
    const policies = fc.constantFrom('Allow', 'Replace');
    fc.assert(
      fc.property(looks, schedules, policies, (seconds, schedule, policy) => {
        let observed = observe({ name: '', schedule, policy, created: '00:00:00', now: '00:00:00', want: {} });
        const started: string[] = [];
        let now = MIDNIGHT;
        for (const wait of seconds) {
          now += wait * 1000;
          const { actions, requeueAt } = planCronJob(observed, now);
          for (const action of actions) if (action.kind === 'startJob') started.push(action.job.metadata.name ?? '');
          observed = carryOut(observed, actions);
          expect(planAgain(observed, now)).toEqual([]);
          expect(requeueAt).toBeGreaterThan(now);
        }
        expect(new Set(started).size).toBe(started.length);
      }),
      { seed: 11, numRuns: 200 },
    );
  });

  it('names a Job after its minute', () => {
    const { cronJob } = observe({ name: '', schedule: '* * * * *', created: '00:00:00', now: '00:00:00', want: {} });
    expect(jobName(cronJob, at('10:00:00'))).toBe(jobName(cronJob, at('10:00:59')));
    expect(jobName(cronJob, at('10:01:00'))).not.toBe(jobName(cronJob, at('10:00:59')));
  });

  it('gives a Job the labels, annotations and spec of the template', () => {
    const { cronJob } = observe({ name: '', schedule: '* * * * *', created: '00:00:00', now: '00:00:00', want: {} });
    const spec = exampleJob({}).spec ?? { template: {} };
    const jobTemplate = { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec };
    const job = newCronJobJob({ ...cronJob, spec: { ...cronJob.spec, jobTemplate } }, at('10:00:00'));
    expect(job).toMatchObject({ metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec });
    expect(job.metadata.ownerReferences).toEqual([controllerReference(cronJob)]);
  });
});

describe('a changed schedule', () => {
  it.each([
    ['* * * * *', 30_100],
    ['0 * * * *', 59.5 * 60_000 + 100],
    ['often', 0],
    ['59 23 31 2 *', 0],
  ])('%s is first looked at at its next time, not for what it would have missed', (schedule, waitMs) => {
    const { cronJob } = observe({ name: '', schedule, created: '00:00:00', now: '10:00:30', want: {} });
    expect(waitAfterChange(cronJob, at('10:00:30'))).toBe(waitMs);
  });
});
