import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type ReconcileKey,
  type Result,
  resultOf,
} from '@gantry/controller-runtime';
import { controllerOf, type Job, JOBS, keyOf, type Pod, PODS } from '@gantry/objects';
import { claimCandidates, ownersOf } from '../../libraries/owned-objects.shell.ts';
import type { JobMeter } from '../../metrics/workloads.ts';
import { hasFinalizer, isJobFinished, isManagedElsewhere } from './job-rules.ts';
import type { ObservedJob } from './observed-job.ts';
import { type Action, creationReason, planJob, planOrphan, planOutcome, type StatusAction } from './plan.ts';
import { changePods, claimPods, JobMemory, type RememberedJob, removeFinalizer } from './pod-writes.shell.ts';
import { modeOf, noteProgress, progressWatches } from './progress.shell.ts';

/** Milliseconds for which pod changes are collected before a Job is reconciled, as in Kubernetes. */
const BATCH_MS = 1000;
/** Milliseconds until a failed adoption is retried. */
const ADOPTION_RETRY_MS = 1000;

/**
 * Runs the pods of Jobs and counts how they end. Keys are Jobs, and pods (with their kind) that no Job will count any more: they lose the
 * tracking finalizer.
 */
export function createJobController(meter: JobMeter): ControllerSpec {
  const memory = new JobMemory();
  return {
    name: 'job',
    eventSource: 'job-controller',
    watches: [
      ...progressWatches(meter),
      {
        resource: JOBS,
        keys: (job, old) => [job ?? old].flatMap((one) => (one === undefined ? [] : [keyOf(one)])),
        // After own status writes, more ended pods are collected.
        delayMs: (job, old) =>
          job !== undefined && old !== undefined && job.metadata.generation === old.metadata.generation ? BATCH_MS : 0,
      },
      {
        resource: PODS,
        keys: (pod, old, cache) => [...ownersOf(pod, JOBS, cache), ...ownersOf(old, JOBS, cache)],
        delayMs: () => BATCH_MS,
      },
      { resource: PODS, keys: (pod, _old, cache) => (pod === undefined ? [] : orphanKeys([pod], cache)) },
      {
        resource: JOBS,
        keys: (job, old, cache) => {
          if (job !== undefined && !isJobFinished(job)) return [];
          const { namespace = '', uid = '' } = (job ?? old)?.metadata ?? {};
          return orphanKeys(cache.controlledBy(PODS, namespace, uid), cache);
        },
      },
    ],
    awaitOwnWrites: 'always',
    begin: () => memory.clear(),
    reconcile: async (key, context, signal) => {
      if (key.kind === PODS.kind) return await reconcileOrphan(key, context, signal);
      const job = context.cache.get(JOBS, key);
      if (job === undefined || isManagedElsewhere(job) || isJobFinished(job)) {
        memory.forget(key);
        return {};
      }
      return await reconcileJob(job, memory, { ...context, meter }, signal);
    },
  };
}

async function reconcileJob(job: Job, memory: JobMemory, context: JobContext, signal: AbortSignal): Promise<Result> {
  const { cache, clock, meter } = context;
  const startedMs = clock.monotonicMs();
  const pods = claimCandidates(job, PODS, cache);
  const remembered = memory.of(job, pods);
  const observed: ObservedJob = { job, pods, backoff: remembered.backoff, settled: new Set(remembered.settled) };
  const now = clock.now();
  const plan = planJob(observed, now);
  if (!(await claimPods(job, plan.actions, context, signal))) return { requeueAfterMs: ADOPTION_RETRY_MS };
  const sync = { mode: modeOf(job), action: actionOf(plan.actions) };
  const report = (result: 'success' | 'error') =>
    meter.synced({ ...sync, result, seconds: (clock.monotonicMs() - startedMs) / 1000 });
  const changed = await changePods(job, plan.actions, remembered, context, signal);
  if (changed.created + changed.refused > 0) {
    const reason = creationReason(observed, now);
    if (changed.created > 0) meter.podsCreated(reason, 'succeeded', changed.created);
    if (changed.refused > 0) meter.podsCreated(reason, 'failed', changed.refused);
  }
  const rest = changed.state === 'complete' ? plan.actions : planOutcome(observed, changed, now);
  await trackPods(job, rest, remembered, context, signal);
  report(changed.failure === undefined ? 'success' : 'error');
  if (changed.failure !== undefined) throw changed.failure.error;
  return resultOf(plan, clock);
}

type JobContext = ControllerContext & { readonly meter: JobMeter };

function actionOf(actions: readonly Action[]): 'pods_created' | 'pods_deleted' | 'tracking' {
  if (actions.some(({ kind }) => kind === 'deletePod')) return 'pods_deleted';
  return actions.some(({ kind }) => kind === 'createPod') ? 'pods_created' : 'tracking';
}

/** Executes the actions on status and finalizers in order; each requires the success of the previous one. */
async function trackPods(
  job: Job,
  actions: readonly (Action | StatusAction)[],
  remembered: RememberedJob,
  context: JobContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, events, meter } = context;
  let current = job;
  for (const action of actions) {
    if (action.kind === 'updateStatus') {
      // The version that was read makes the write conditional: a Job that changed meanwhile is planned again.
      const updated = client.updateStatus(JOBS, { ...current, status: action.status }, signal);
      const stored = await ignoreNotFound(updated);
      if (stored === undefined) return;
      noteProgress(meter, current, stored);
      current = stored;
    } else if (action.kind === 'remember') remembered.backoff = action.backoff;
    else if (action.kind === 'removeFinalizers') {
      for (const handled of action.handled) meter.failureHandled(handled);
      const remove = (pod: Pod) => removeFinalizer(pod, remembered, context, signal);
      await executeActions(action.pods, remove, { pace: 'full' }, signal);
    } else if (action.kind === 'report') {
      const { type, reason, message } = action.report;
      events.event(job, type, reason, message);
    }
  }
}

/** Keys of pods that keep a finalizer although no Job seems to count them. */
function orphanKeys(pods: readonly Pod[], cache: Cache): ReconcileKey[] {
  return pods
    .filter((pod) => hasFinalizer(pod) && planOrphan(pod, jobOf(pod, cache)).actions.length > 0)
    .map((pod) => ({ ...keyOf(pod), group: PODS.group, kind: PODS.kind }));
}

function jobOf(pod: Pod, cache: Cache): Job | undefined {
  const name = controllerOf(pod)?.name;
  return name === undefined ? undefined : cache.get(JOBS, { namespace: pod.metadata.namespace ?? '', name });
}

/** The Job that controls a pod. The cache may still show an earlier Job of that name, or none. */
async function findJob(pod: Pod, { cache, client }: ControllerContext, signal: AbortSignal): Promise<Job | undefined> {
  const controller = controllerOf(pod);
  if (controller === undefined) return undefined;
  const cached = jobOf(pod, cache);
  if (cached?.metadata.uid === controller.uid) return cached;
  const key = { namespace: pod.metadata.namespace ?? '', name: controller.name };
  return await ignoreNotFound(client.get(JOBS, key, signal));
}

async function reconcileOrphan(key: ReconcileKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const pod = context.cache.get(PODS, key);
  if (pod === undefined || !hasFinalizer(pod)) return {};
  const job = await findJob(pod, context, signal);
  for (const action of planOrphan(pod, job).actions) {
    if (action.kind !== 'removeFinalizers') continue;
    for (const orphan of action.pods) await removeFinalizer(orphan, undefined, context, signal);
  }
  return {};
}
