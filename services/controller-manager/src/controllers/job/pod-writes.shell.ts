import { ignoreNotFound, ignoreReasons, isNamespaceTerminating } from '@gantry/client';
import { type ControllerContext, executeActions } from '@gantry/controller-runtime';
import { type Job, JOBS, keyOf, type Pod, PODS } from '@gantry/objects';
import { createPod, deletePod } from '../pods/pod-writes.shell.ts';
import type { RememberedJob } from './job-memory.shell.ts';
import { hasFinalizer } from './job-rules.ts';
import type { Action, PodOutcome } from './plan.ts';
import { finalizerRemovalPatch, jobAdoptionPatch, jobReleasePatch } from './pod-patches.ts';

/** What became of a plan's changes of pods. `complete` when all were carried out. */
export interface ChangedPods extends PodOutcome {
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
