import { errorMessage, type Instant } from '@gantry/base';
import { ignoreNotFound, isNamespaceTerminating } from '@gantry/client';
import { type ControllerContext, type ControllerSpec, resultOf, watchMapped } from '@gantry/controller-runtime';
import {
  controllerOf,
  CRON_JOBS,
  type CronJob,
  type CronJobStatus,
  equalJson,
  formatKey,
  isReason,
  type Job,
  JOBS,
  keyOf,
  type ObjectKey,
} from '@gantry/objects';
import type { CronJobMeter } from '../../metrics/workloads.ts';
import { isListed, withoutJobs, withStarted } from './cron-status.ts';
import { waitAfterChange } from './missed-times.ts';
import { type Action, type CronJobReport, planCronJob } from './plan.ts';

/** Starts Jobs at their scheduled times, and keeps a limited history of them. */
export function createCronJobController(meter: CronJobMeter): ControllerSpec {
  /** Reports by CronJob: lasting conditions are reported once per term. */
  const reported = new Map<string, ReadonlySet<string>>();
  return {
    name: 'cronjob',
    eventSource: 'cronjob-controller',
    watches: [
      {
        resource: CRON_JOBS,
        keys: (cronJob, old) => [cronJob ?? old].flatMap((one) => (one === undefined ? [] : [keyOf(one)])),
        delayMs: (cronJob: CronJob | undefined, old: CronJob | undefined, now) =>
          cronJob !== undefined && old !== undefined && hasNewTimes(cronJob, old) ? waitAfterChange(cronJob, now) : 0,
      },
      watchMapped(JOBS, ownerKeys),
    ],
    awaitOwnWrites: 'always',
    begin: () => reported.clear(),
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const cronJob = cache.get(CRON_JOBS, key);
      const id = formatKey(key);
      if (cronJob === undefined) {
        reported.delete(id);
        return {};
      }
      const jobs = cache.controlledBy(JOBS, key.namespace, cronJob.metadata.uid ?? '');
      const missing = await findMissing(cronJob, jobs, context, signal);
      const observed = { cronJob, jobs, missing, reported: reported.get(id) ?? new Set<string>() };
      const plan = planCronJob(observed, clock.now());
      const actions = new CronJobActions(cronJob, { ...context, meter }, signal);
      try {
        for (const action of plan.actions) {
          if (action.kind === 'remember') reported.set(id, action.reported);
          else await actions.carryOut(action);
        }
      } finally {
        await actions.writeStatus();
      }
      actions.throwFailure();
      return resultOf(plan, clock);
    },
  };
}

function hasNewTimes({ spec }: CronJob, old: CronJob): boolean {
  return spec.schedule !== old.spec.schedule || spec.timeZone !== old.spec.timeZone;
}

function ownerKeys(job: Job): readonly ObjectKey[] {
  const owner = controllerOf(job);
  if (owner?.kind !== CRON_JOBS.kind) return [];
  return [{ namespace: job.metadata.namespace ?? '', name: owner.name }];
}

/** Uids of listed Jobs that no longer exist. The cache may not show a Job yet, so the store is read. */
async function findMissing(
  { status }: CronJob,
  jobs: readonly Job[],
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const missing = new Set<string>();
  for (const { namespace = '', name = '', uid = '' } of status?.active ?? []) {
    if (jobs.some(({ metadata }) => metadata.uid === uid)) continue;
    const found = await ignoreNotFound(client.get(JOBS, { namespace, name }, signal));
    if (found?.metadata.uid !== uid) missing.add(uid);
  }
  return missing;
}

type JobDeletion = Extract<Action, { kind: 'deleteJob' }>;

/** The context for executing actions. */
type Hands = ControllerContext & { readonly meter: CronJobMeter };

/** Executes a plan's actions in order. The status is written once at the end, even after a failure, to record what was done before it. */
class CronJobActions {
  readonly #cronJob: CronJob;
  readonly #context: Hands;
  readonly #signal: AbortSignal;
  #status: CronJobStatus;
  #failure: { readonly error: unknown } | undefined;

  constructor(cronJob: CronJob, context: Hands, signal: AbortSignal) {
    this.#cronJob = cronJob;
    this.#context = context;
    this.#signal = signal;
    this.#status = cronJob.status ?? {};
  }

  async carryOut(action: Exclude<Action, { kind: 'remember' }>): Promise<void> {
    switch (action.kind) {
      case 'deleteJob':
        if (action.cause === 'history') await this.#deleteOld(action);
        else await this.#replace(action);
        return;
      case 'updateStatus':
        this.#status = action.status;
        return;
      case 'startJob':
        await this.#startJob(action);
        return;
      case 'report':
        this.#report(action.report);
    }
  }

  /** Writes the status if it has changed. */
  async writeStatus(): Promise<void> {
    if (equalJson(this.#status, this.#cronJob.status ?? {})) return;
    const { client } = this.#context;
    await ignoreNotFound(client.updateStatus(CRON_JOBS, { ...this.#cronJob, status: this.#status }, this.#signal));
  }

  /** Throws the error of a failure that did not stop the other actions. */
  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Deletes a Job of the history. A failure does not stop the other actions. */
  async #deleteOld(job: JobDeletion): Promise<void> {
    try {
      await this.#deleteJob(job);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /** Deletes a Job that is to be replaced. If reading or deleting it fails, its successor is not started. */
  async #replace(job: JobDeletion): Promise<void> {
    const namespace = this.#cronJob.metadata.namespace ?? '';
    try {
      await this.#context.client.get(JOBS, { namespace, name: job.name }, this.#signal);
    } catch (error) {
      this.#report({ type: 'Warning', reason: 'FailedGet', message: `Get job: ${errorMessage(error)}` });
      throw error;
    }
    await this.#deleteJob(job);
    this.#status = withoutJobs(this.#status, new Set([job.uid]));
  }

  async #deleteJob({ uid, name }: JobDeletion): Promise<void> {
    const namespace = this.#cronJob.metadata.namespace ?? '';
    try {
      const request = { uid, propagationPolicy: 'Background' } as const;
      await ignoreNotFound(this.#context.client.delete(JOBS, { namespace, name }, request, this.#signal));
      this.#report({ type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` });
    } catch (error) {
      this.#report({ type: 'Warning', reason: 'FailedDelete', message: `Deleted job: ${errorMessage(error)}` });
      throw error;
    }
  }

  async #startJob({ job, scheduledAt, status }: Extract<Action, { kind: 'startJob' }>): Promise<void> {
    const started = await this.#createJob(job, scheduledAt);
    if (started === undefined || isListed(status, started.metadata.uid)) return;
    this.#status = withStarted(status, started, scheduledAt);
  }

  /**
   * The Job for a scheduled time: a new one, or one that an earlier leader created before it crashed without writing the status. Undefined
   * if another owner has a Job of that name, or if the namespace is being deleted and rejects all Jobs.
   */
  async #createJob(job: Job, scheduledAt: Instant): Promise<Job | undefined> {
    const { client, meter } = this.#context;
    try {
      const created = await client.create(JOBS, job, this.#signal);
      const createdAt = Date.parse(created.metadata.creationTimestamp ?? '');
      if (!Number.isNaN(createdAt)) meter.jobCreated((createdAt - scheduledAt) / 1000);
      const message = `Created job ${created.metadata.name ?? ''}`;
      this.#report({ type: 'Normal', reason: 'SuccessfulCreate', message });
      return created;
    } catch (error) {
      if (isReason(error, 'AlreadyExists')) {
        const existing = await client.get(JOBS, keyOf(job), this.#signal);
        return controllerOf(existing)?.uid === this.#cronJob.metadata.uid ? existing : undefined;
      }
      if (isNamespaceTerminating(error)) return undefined;
      this.#report({ type: 'Warning', reason: 'FailedCreate', message: `Error creating job: ${errorMessage(error)}` });
      throw error;
    }
  }

  #report({ type, reason, message }: CronJobReport): void {
    this.#context.events.event(this.#cronJob, type, reason, message);
  }
}
