import { errorMessage } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import { type ControllerContext, type ControllerSpec, type ReconcileKey, resultOf } from '@gantry/controller-runtime';
import {
  CRON_JOBS,
  type CronJob,
  type CronJobStatus,
  equalJson,
  formatKey,
  isReason,
  type Job,
  JOBS,
  keyOf,
} from '@gantry/objects';
import type { CronJobMeter } from '../meters.ts';
import { controllerOf } from '../ownership.ts';
import { isNamespaceTerminating } from '../pods/pod-writes.shell.ts';
import { isListed, withStarted } from './cron-status.ts';
import { waitAfterChange } from './missed-times.ts';
import { type Action, planCronJob } from './plan.ts';

/** Starts Jobs by the clock, and keeps a bounded history of them. */
export function createCronJobController(meter: CronJobMeter): ControllerSpec {
  /** What was reported, by CronJob: lasting conditions are reported once a term. */
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
      { resource: JOBS, keys: (job, old) => [...ownerKeys(job), ...ownerKeys(old)] },
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
      for (const action of plan.actions) {
        if (action.kind === 'remember') reported.set(id, action.reported);
        else await actions.carryOut(action);
      }
      actions.throwFailure();
      return resultOf(plan, clock);
    },
  };
}

function hasNewTimes({ spec }: CronJob, old: CronJob): boolean {
  return spec.schedule !== old.spec.schedule || spec.timeZone !== old.spec.timeZone;
}

function ownerKeys(job: Job | undefined): ReconcileKey[] {
  const owner = job === undefined ? undefined : controllerOf(job);
  if (owner?.kind !== CRON_JOBS.kind) return [];
  return [{ namespace: job?.metadata.namespace ?? '', name: owner.name }];
}

/** Uids of listed Jobs that are gone. The cache may not show a Job yet, so the store is asked. */
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

/** What actions are carried out with. */
type Hands = ControllerContext & { readonly meter: CronJobMeter };

/** Carries out a plan's actions in their order. */
class CronJobActions {
  #current: CronJob;
  readonly #context: Hands;
  readonly #signal: AbortSignal;
  #failure: { readonly error: unknown } | undefined;

  constructor(cronJob: CronJob, context: Hands, signal: AbortSignal) {
    this.#current = cronJob;
    this.#context = context;
    this.#signal = signal;
  }

  async carryOut(action: Exclude<Action, { kind: 'remember' }>): Promise<void> {
    switch (action.kind) {
      case 'deleteJob':
        await this.#deleteJob(action);
        return;
      case 'updateStatus':
        await this.#updateStatus(action.status);
        return;
      case 'startJob':
        await this.#startJob(action);
        return;
      case 'report': {
        const { type, reason, message } = action.report;
        this.#context.events.event(this.#current, type, reason, message);
      }
    }
  }

  /** Throws what failed and did not stop the rest. */
  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** A Job of the history that cannot be deleted stops nothing else; one that is to be replaced does. */
  async #deleteJob({ uid, name, cause }: Extract<Action, { kind: 'deleteJob' }>): Promise<void> {
    const { client, events } = this.#context;
    const namespace = this.#current.metadata.namespace ?? '';
    try {
      const request = { uid, propagationPolicy: 'Background' } as const;
      await ignoreNotFound(client.delete(JOBS, { namespace, name }, request, this.#signal));
      events.event(this.#current, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      events.event(this.#current, 'Warning', 'FailedDelete', `Deleted job: ${errorMessage(error)}`);
      if (cause === 'replaced') throw error;
      this.#failure ??= { error };
    }
  }

  async #startJob({ job, scheduledAt, status }: Extract<Action, { kind: 'startJob' }>): Promise<void> {
    const { client, events, meter } = this.#context;
    let started: Job;
    try {
      started = await client.create(JOBS, job, this.#signal);
      const createdAt = Date.parse(started.metadata.creationTimestamp ?? '');
      if (!Number.isNaN(createdAt)) meter.jobCreated((createdAt - scheduledAt) / 1000);
      events.event(this.#current, 'Normal', 'SuccessfulCreate', `Created job ${started.metadata.name ?? ''}`);
    } catch (error) {
      if (!isReason(error, 'AlreadyExists')) {
        // Jobs may have been replaced.
        if (!equalJson(status, this.#current.status ?? {})) await this.#updateStatus(status);
        // A namespace that is being deleted refuses every Job.
        if (isNamespaceTerminating(error)) return;
        events.event(this.#current, 'Warning', 'FailedCreate', `Error creating job: ${errorMessage(error)}`);
        throw error;
      }
      // Created before a crash, by a leader that did not get to write the status; or by another writer, whom it concerns alone.
      started = await client.get(JOBS, keyOf(job), this.#signal);
      const owner = controllerOf(started)?.uid;
      if (owner !== this.#current.metadata.uid || isListed(status, started.metadata.uid)) return;
    }
    await this.#updateStatus(withStarted(status, started, scheduledAt));
  }

  async #updateStatus(status: CronJobStatus): Promise<void> {
    const updated = this.#context.client.updateStatus(CRON_JOBS, { ...this.#current, status }, this.#signal);
    this.#current = (await ignoreNotFound(updated)) ?? this.#current;
  }
}
