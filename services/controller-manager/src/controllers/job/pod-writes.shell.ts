import { ignoreNotFound, ignoreReasons, isNamespaceTerminating } from '@gantry/client';
import { type ControllerContext, executeActions } from '@gantry/controller-runtime';
import { formatKey, type Job, JOBS, keyOf, type ObjectKey, type Pod, PODS, TRACKING_FINALIZER } from '@gantry/objects';
import { adoptionPatch, releasePatch } from '../../libraries/ownership.ts';
import { createPod, deletePod } from '../../libraries/pods/pod-writes.shell.ts';
import { type BackoffRecord, NO_FAILURES } from './backoff.ts';
import { hasFinalizer } from './job-rules.ts';
import type { Action } from './plan.ts';
import type { PodOutcome } from './status.ts';

/** What became of a plan's changes of pods. `complete` when all were carried out. */
interface ChangedPods extends PodOutcome {
  readonly state: 'complete' | 'stopped';
  /** How many pods could not be created, but for a namespace that is terminating. */
  readonly refused: number;
  /** Undefined also when the namespace is terminating: it refuses every creation. */
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * Releases and adopts pods. False when a pod could not be adopted, or when the Job may not adopt: it is being deleted, or its
 * name belongs to another by now, which only a read of the store can tell.
 */
export async function claimPods(
  job: Job,
  actions: readonly Action[],
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<boolean> {
  const adoptions = actions.flatMap((action) => (action.kind === 'adopt' ? [action.pod] : []));
  const releases = actions.flatMap((action) => (action.kind === 'release' ? [action.pod] : []));
  for (const pod of releases) {
    const released = client.patch(PODS, keyOf(pod), { strategic: jobReleasePatch(pod, job) }, signal);
    await ignoreReasons(released, ['NotFound', 'Invalid']);
  }
  if (adoptions.length === 0) return true;
  const fresh = await ignoreNotFound(client.get(JOBS, keyOf(job), signal));
  if (fresh?.metadata.uid !== job.metadata.uid || fresh?.metadata.deletionTimestamp !== undefined) return false;
  for (const pod of adoptions) {
    const adopted = client.patch(PODS, keyOf(pod), { strategic: jobAdoptionPatch(pod, job) }, signal);
    if ((await ignoreReasons(adopted, ['NotFound', 'Invalid'])) === undefined) return false;
  }
  return true;
}

/** Deletes and creates pods as planned. A failure does not throw: the status has to say what was done. */
export async function changePods(
  job: Job,
  actions: readonly Action[],
  remembered: RememberedJob,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<ChangedPods> {
  const removed: Pod[] = [];
  let created = 0;
  let refused = 0;
  const execute = async (action: Action) => {
    if (action.kind === 'deletePod') {
      if (action.finalizer === 'remove') await removeFinalizer(action.pod, remembered, context, signal);
      await deletePod(job, action.pod, context, signal);
      removed.push(action.pod);
    } else if (action.kind === 'createPod') {
      try {
        await createPod(job, action.pod, context, signal);
      } catch (error) {
        if (!isNamespaceTerminating(error)) refused += 1;
        throw error;
      }
      created += 1;
    }
  };
  try {
    const deletions = actions.filter(({ kind }) => kind === 'deletePod');
    await executeActions(deletions, execute, { pace: 'full' }, signal);
    const creations = actions.filter(({ kind }) => kind === 'createPod');
    await executeActions(creations, execute, {}, signal);
  } catch (error) {
    const failure = isNamespaceTerminating(error) ? undefined : { error };
    return { removed, created, refused, state: 'stopped', failure };
  }
  return { removed, created, refused, state: 'complete', failure: undefined };
}

/** Takes the finalizer off a pod of a Job. A pod that is gone has none. */
export async function removeFinalizer(
  pod: Pod,
  remembered: RememberedJob | undefined,
  { client }: Pick<ControllerContext, 'client'>,
  signal: AbortSignal,
): Promise<void> {
  if (!hasFinalizer(pod)) return;
  await ignoreNotFound(client.patch(PODS, keyOf(pod), { strategic: finalizerRemovalPatch(pod) }, signal));
  remembered?.settled.add(pod.metadata.uid ?? '');
}

const REMOVAL = { '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] };

/** A strategic merge patch that takes the Job's finalizer off a pod; the uid guards against a namesake. */
function finalizerRemovalPatch({ metadata }: Pod): object {
  return { metadata: { uid: metadata.uid, ...REMOVAL } };
}

/** Makes a Job the controller of a pod that it will count. */
function jobAdoptionPatch(pod: Pod, job: Job): object {
  return withMetadata(adoptionPatch(pod, job), { finalizers: [TRACKING_FINALIZER] });
}

/** Takes a Job off the owners of a pod that it will not count. */
function jobReleasePatch(pod: Pod, job: Job): object {
  return withMetadata(releasePatch(pod, job), REMOVAL);
}

function withMetadata(patch: { readonly metadata?: object }, more: object): object {
  return { metadata: { ...patch.metadata, ...more } };
}

/** What the controller remembers of a Job within a term. */
export interface RememberedJob {
  readonly uid: string;
  backoff: BackoffRecord;
  /** Uids of pods whose finalizer was removed, as long as the cache shows it. */
  readonly settled: Set<string>;
}

/** What cannot be read from the API: failures since the last success, and writes that the cache may not show. */
export class JobMemory {
  readonly #jobs = new Map<string, RememberedJob>();

  clear(): void {
    this.#jobs.clear();
  }

  forget(key: ObjectKey): void {
    this.#jobs.delete(formatKey(key));
  }

  /** What is known of a Job, given its pods as the cache shows them. */
  of(job: Job, pods: readonly Pod[]): RememberedJob {
    const key = formatKey(keyOf(job));
    const { uid = '' } = job.metadata;
    const known = this.#jobs.get(key);
    if (known?.uid !== uid) {
      const fresh = { uid, backoff: NO_FAILURES, settled: new Set<string>() };
      this.#jobs.set(key, fresh);
      return fresh;
    }
    if (known.settled.size > 0) {
      const shown = new Set(pods.filter(hasFinalizer).map(({ metadata }) => metadata.uid));
      for (const settled of known.settled) if (!shown.has(settled)) known.settled.delete(settled);
    }
    return known;
  }
}
