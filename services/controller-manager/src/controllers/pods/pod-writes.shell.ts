import { errorMessage } from '@gantry/base';
import { type ControllerContext, executeActions } from '@gantry/controller-runtime';
import { isReason, keyOf, type KubeObject, type Pod, PODS } from '@gantry/objects';

/** What writes of pods need of a reconcile's context. */
type PodWriter = Pick<ControllerContext, 'client' | 'events'>;

/**
 * Creates pods of an owner: one, then two, four and so on, up to the first group with a failure, which is thrown after the
 * group has ended. A terminating namespace ends it without an error, since it would refuse all. Reports `SuccessfulCreate` and
 * `FailedCreate` on the owner. After a failure the caller plans again from the cache: some of the pods may exist.
 */
export async function createPods(
  owner: KubeObject,
  pods: readonly Pod[],
  context: PodWriter,
  signal: AbortSignal,
): Promise<void> {
  try {
    await executeActions(pods, (pod) => createPod(owner, pod, context, signal), {}, signal);
  } catch (error) {
    if (!isNamespaceTerminating(error)) throw error;
  }
}

/** Creates one pod of an owner and reports it. Rejects with the error of the write, also in a terminating namespace. */
export async function createPod(
  owner: KubeObject,
  pod: Pod,
  { client, events }: PodWriter,
  signal: AbortSignal,
): Promise<void> {
  let created: Pod;
  try {
    created = await client.create(PODS, pod, signal);
  } catch (error) {
    if (!isNamespaceTerminating(error)) {
      events.event(owner, 'Warning', 'FailedCreate', `Error creating: ${errorMessage(error)}`);
    }
    throw error;
  }
  events.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name ?? ''}`);
}

/** Deletes all of these pods of an owner, and throws the first failure after all have been tried. */
export async function deletePods(
  owner: KubeObject,
  pods: readonly Pod[],
  context: PodWriter,
  signal: AbortSignal,
): Promise<void> {
  await executeActions(pods, (pod) => deletePod(owner, pod, context, signal), { pace: 'full' }, signal);
}

/**
 * Deletes one pod of an owner and reports `SuccessfulDelete` or `FailedDelete` on the owner. A pod that is gone, or whose name
 * belongs to another pod by now, is neither a success nor a failure.
 */
export async function deletePod(
  owner: KubeObject,
  pod: Pod,
  { client, events }: PodWriter,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(PODS, keyOf(pod), { uid: pod.metadata.uid }, signal);
  } catch (error) {
    // A Conflict: another pod has the name by now.
    if (isReason(error, 'NotFound') || isReason(error, 'Conflict')) return;
    events.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${errorMessage(error)}`);
    throw error;
  }
  events.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name ?? ''}`);
}

/** Whether a create was refused because its namespace is being deleted: every other create in it will be. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!isReason(error, 'Forbidden')) return false;
  return error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
}
