import { type FieldError, type Job, type JobStatus, duplicate, equalJson, invalid, required } from '@gantry/objects';
import { IMMUTABLE, invalidOmitted, nonNegative } from '@gantry/apimachinery';
import { countIndexes, findOverlap } from './index-list.ts';

const CONDITIONS = 'status.conditions';
const TERMINAL = ['Failed', 'Complete', 'FailureTarget'] as const;

type JobConditionType = 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended';

/** Whether the first condition of the type is true; only the first one counts. */
export function isJobCondition(job: Job, type: JobConditionType): boolean {
  return (job.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}

function isFinished(job: Job): boolean {
  return isJobCondition(job, 'Complete') || isJobCondition(job, 'Failed');
}

/** A status change. Unchanged fields are not checked. */
interface StatusChange {
  readonly job: Job;
  readonly old: Job;
  readonly status: Partial<JobStatus>;
  changes(field: keyof JobStatus): boolean;
  turns(type: JobConditionType): boolean;
  readonly finishes: boolean;
}

/** Checks a Job's status and its change, so that controllers other than ours cannot break clients. */
export function validateJobStatusChange(job: Job, old: Job): FieldError[] {
  const status: Partial<JobStatus> = job.status ?? {};
  const before: Partial<JobStatus> = old.status ?? {};
  const plain = (value: unknown) => (value === 0 || value === '' ? undefined : value);
  const change: StatusChange = {
    job,
    old,
    status,
    changes: (field) =>
      field === 'failedIndexes' || field === 'ready' || field === 'terminating'
        ? status[field] !== before[field]
        : !equalJson(plain(status[field]), plain(before[field])),
    turns: (type) => isJobCondition(job, type) !== isJobCondition(old, type),
    finishes: isFinished(job) !== isFinished(old),
  };
  return [
    ...validateCounts(status),
    ...validateConditions(change),
    ...validateFinish(change),
    ...validateIndexes(change),
    ...validateRest(change),
    ...validateTransition(change),
  ];
}

function validateCounts(status: Partial<JobStatus>): FieldError[] {
  const fields = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const;
  const errors = fields.flatMap((field) => nonNegative(`status.${field}`, status[field]));
  const seen = new Set<string>();
  for (const list of ['succeeded', 'failed'] as const) {
    (status.uncountedTerminatedPods?.[list] ?? []).forEach((uid, i) => {
      const path = `status.uncountedTerminatedPods.${list}[${i}]`;
      if (uid === '') errors.push(invalid(path, uid, 'must not be empty'));
      else if (seen.has(uid)) errors.push(duplicate(path, uid));
      else seen.add(uid);
    });
  }
  return errors;
}

function validateConditions({ job, status, changes, turns }: StatusChange): FieldError[] {
  const errors: FieldError[] = [];
  const isComplete = isJobCondition(job, 'Complete');
  const { completionTime, startTime } = status;
  const refuse = (detail: string) => errors.push(invalidOmitted(CONDITIONS, detail));
  if ((turns('Complete') || turns('Failed')) && isComplete && isJobCondition(job, 'Failed')) {
    refuse('cannot set Complete=True and Failed=true conditions');
  }
  if ((turns('Complete') || turns('FailureTarget')) && isComplete && isJobCondition(job, 'FailureTarget')) {
    refuse('cannot set Complete=True and FailureTarget=true conditions');
  }
  const isTimed = turns('Complete') || changes('completionTime');
  if (isTimed && completionTime !== undefined && !isComplete) {
    const detail = 'cannot set completionTime when there is no Complete=True condition';
    errors.push(invalid('status.completionTime', completionTime, detail));
  }
  if (isTimed && completionTime === undefined && isComplete) {
    errors.push(required('status.completionTime', 'completionTime is required for Complete jobs'));
  }
  const isMoved = changes('startTime') || changes('completionTime');
  if (isMoved && startTime !== undefined && completionTime !== undefined && completionTime < startTime) {
    errors.push(invalid('status.completionTime', completionTime, 'must be equal to or after `startTime`'));
  }
  const fails = turns('Failed') || changes('failedIndexes');
  if (fails && isJobCondition(job, 'Failed') && !isJobCondition(job, 'FailureTarget')) {
    refuse('cannot set Failed=True condition without the FailureTarget=true condition');
  }
  const completes = turns('Complete') || turns('SuccessCriteriaMet');
  if (completes && isComplete && !isJobCondition(job, 'SuccessCriteriaMet')) {
    refuse('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  }
  return errors;
}

function validateFinish({ job, status, changes, finishes }: StatusChange): FieldError[] {
  if (!isFinished(job)) return [];
  const errors: FieldError[] = [];
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = status;
  if ((finishes || changes('active')) && active > 0) {
    errors.push(invalid('status.active', active, 'active>0 is invalid for finished job'));
  }
  const neverRuns = job.spec?.suspend === true && job.spec.completions === 0;
  if ((finishes || changes('startTime')) && !neverRuns && startTime === undefined) {
    errors.push(required('status.startTime', 'startTime is required for finished job'));
  }
  const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
  if ((finishes || changes('uncountedTerminatedPods')) && left > 0) {
    const printed = { Succeeded: uncounted?.succeeded ?? null, Failed: uncounted?.failed ?? null };
    errors.push(invalid('status.uncountedTerminatedPods', printed, 'must be empty for finished job'));
  }
  return errors;
}

function validateIndexes({ job, status, changes }: StatusChange): FieldError[] {
  const errors: FieldError[] = [];
  const { completions, backoffLimitPerIndex, completionMode } = job.spec ?? {};
  const { completedIndexes: done = '', failedIndexes: failed } = status;
  const parse = (field: 'completedIndexes' | 'failedIndexes', text: string) => {
    const found = countIndexes(text, completions ?? 0);
    if (typeof found !== 'number') {
      errors.push(invalid(`status.${field}`, text, `error parsing ${field}: ${found.fault}`));
    }
  };
  const isDone = changes('completedIndexes');
  const isFailed = changes('failedIndexes');
  if (isDone && completions !== undefined) parse('completedIndexes', done);
  if (isFailed && completions !== undefined && backoffLimitPerIndex !== undefined && failed !== undefined) {
    parse('failedIndexes', failed);
  }
  if (isDone && done !== '' && completionMode !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    errors.push(invalid('status.completedIndexes', done, detail));
  }
  if (isFailed && backoffLimitPerIndex === undefined && failed !== undefined) {
    const detail = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    errors.push(invalid('status.failedIndexes', failed, detail));
  }
  if ((isDone || isFailed) && completions !== undefined && failed !== undefined) {
    const overlap = findOverlap(done, failed, completions);
    if (overlap !== undefined) errors.push(invalid('status.failedIndexes', failed, overlap));
  }
  return errors;
}

function validateRest({ job, status, changes, finishes }: StatusChange): FieldError[] {
  const errors: FieldError[] = [];
  const { terminating = 0, ready = 0, active = 0 } = status;
  if ((finishes || changes('terminating')) && terminating > 0 && isFinished(job)) {
    errors.push(invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job'));
  }
  if ((changes('ready') || changes('active')) && ready > active) {
    errors.push(invalid('status.ready', ready, 'cannot set more ready pods than active'));
  }
  const isMet = isJobCondition(job, 'SuccessCriteriaMet');
  for (const [type, name] of [
    ['Failed', 'Failed=true'],
    ['FailureTarget', 'FailureTarget=true'],
  ] as const) {
    if (isMet && isJobCondition(job, type)) {
      errors.push(invalidOmitted(CONDITIONS, `cannot set SuccessCriteriaMet=True and ${name} conditions`));
    }
  }
  if (job.spec?.successPolicy !== undefined && !isMet && isJobCondition(job, 'Complete')) {
    const detail = 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True';
    errors.push(invalidOmitted(CONDITIONS, detail));
  }
  return errors;
}

function validateTransition({ job, old, status, changes }: StatusChange): FieldError[] {
  const errors: FieldError[] = [];
  const before: Partial<JobStatus> = old.status ?? {};
  for (const type of TERMINAL) {
    if (isJobCondition(old, type) && !isJobCondition(job, type)) {
      errors.push(invalidOmitted(CONDITIONS, `cannot disable the terminal ${type}=True condition`));
    }
  }
  const { failed = 0, succeeded = 0, completionTime, startTime } = status;
  if (failed < (before.failed ?? 0))
    errors.push(invalid('status.failed', failed, 'cannot decrease the failed counter'));
  // An Indexed Job with completions equal to parallelism can be scaled down.
  const { completionMode, completions, parallelism, suspend } = job.spec ?? {};
  const isElastic = completionMode === 'Indexed' && completions === parallelism;
  if (!isElastic && succeeded < (before.succeeded ?? 0)) {
    errors.push(invalid('status.succeeded', succeeded, 'cannot decrease the succeeded counter'));
  }
  if (completionTime !== undefined && before.completionTime !== undefined && changes('completionTime')) {
    errors.push(invalid('status.completionTime', completionTime, IMMUTABLE));
  }
  const resumes =
    isJobCondition(old, 'Suspended') &&
    (status.conditions ?? []).some((condition) => condition.type === 'Suspended' && condition.status === 'False');
  if (changes('startTime') && !resumes && before.startTime !== undefined && suspend !== true) {
    const detail = 'field is immutable for unsuspended job once set';
    errors.push(invalid('status.startTime', startTime ?? null, detail));
  }
  const wasMet = isJobCondition(old, 'SuccessCriteriaMet');
  const isMet = isJobCondition(job, 'SuccessCriteriaMet');
  if (wasMet && !isMet) {
    errors.push(invalidOmitted(CONDITIONS, 'cannot disable the SuccessCriteriaMet=True condition'));
  }
  if (isJobCondition(old, 'Complete') && !wasMet && isMet) {
    const detail = 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions';
    errors.push(invalidOmitted(CONDITIONS, detail));
  }
  return errors;
}
