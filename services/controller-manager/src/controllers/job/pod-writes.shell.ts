import { ignoreNotFound, ignoreReasons, isNamespaceTerminating } from '@gantry/client';
import { type ControllerContext, executeActions } from '@gantry/controller-runtime';
import { formatKey, type Job, JOBS, keyOf, type ObjectKey, type Pod, PODS, TRACKING_FINALIZER } from '@gantry/objects';
import { adoptionPatch, releasePatch } from '../../libraries/ownership.ts';
import { createPod, deletePod } from '../../libraries/pods/pod-writes.shell.ts';
import { type BackoffRecord, NO_FAILURES } from './backoff.ts';
import { hasFinalizer } from './job-rules.ts';
import type { Action } from './plan.ts';
import type { PodOutcome } from './status.ts';

/** The result of a plan's pod changes. `complete` if all were executed. */
interface ChangedPods extends PodOutcome {
  readonly state: 'complete' | 'stopped';
  /** The number of pods that could not be created, except because the namespace is terminating. */
  readonly refused: number;
  /** Also undefined if the namespace is terminating, because it rejects all creations. */
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * Releases and adopts pods. False if a pod could not be adopted, or if the Job may not adopt: because it is being deleted, or because
 * another Job has its name now, which only a read of the store shows.
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

/** Deletes and creates pods as planned. Does not throw on failure: the status must record what was done. */
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

/** Removes the finalizer from a pod of a Job. A missing pod is not an error. */
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

/** A strategic merge patch that removes the Job's finalizer from a pod; the uid protects a new pod with the same name. */
function finalizerRemovalPatch({ metadata }: Pod): object {
  return { metadata: { uid: metadata.uid, ...REMOVAL } };
}

/** A patch that makes a Job the controller of a pod and adds the tracking finalizer. */
function jobAdoptionPatch(pod: Pod, job: Job): object {
  return withMetadata(adoptionPatch(pod, job), { finalizers: [TRACKING_FINALIZER] });
}

/** A patch that removes a Job from the owners of a pod, and the tracking finalizer. */
function jobReleasePatch(pod: Pod, job: Job): object {
  return withMetadata(releasePatch(pod, job), REMOVAL);
}

function withMetadata(patch: { readonly metadata?: object }, more: object): object {
  return { metadata: { ...patch.metadata, ...more } };
}

/** The memory of a Job within a term. */
export interface RememberedJob {
  readonly uid: string;
  backoff: BackoffRecord;
  /** Uids of pods whose finalizer was removed while the cache still shows it. */
  readonly settled: Set<string>;
}

/** State that is not in the API: failures since the last success, and writes that the cache may not show. */
export class JobMemory {
  readonly #jobs = new Map<string, RememberedJob>();

  clear(): void {
    this.#jobs.clear();
  }

  forget(key: ObjectKey): void {
    this.#jobs.delete(formatKey(key));
  }

  /** The memory of a Job, given its pods in the cache. */
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
