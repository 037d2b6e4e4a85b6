import { append, errorMessage } from '@gantry/base';
import { ignoreNotFound, isNamespaceTerminating, type ObjectWrite } from '@gantry/client';
import type { ControllerContext } from '@gantry/controller-runtime';
import { isReason, keyOf, type KubeObject, type Pod, PODS, StatusError } from '@gantry/objects';

/** The part of a reconcile's context that pod writes need. */
type PodWriter = Pick<ControllerContext, 'client' | 'events'>;

/** The maximum number of pods per request. */
const MAX_GROUP = 64;

/**
 * Creates pods of an owner: one, then two, four and so on, until the first group with a failure, which is thrown when the group has ended.
 * A terminating namespace ends it without an error, because it rejects all pods. Reports `SuccessfulCreate` and `FailedCreate` on the
 * owner. After a failure, the caller plans again from the cache: some pods may exist.
 */
export async function createPods(
  owner: KubeObject,
  pods: readonly Pod[],
  context: PodWriter,
  signal: AbortSignal,
): Promise<void> {
  let size = 1;
  for (let start = 0; start < pods.length; ) {
    const group = pods.slice(start, start + size);
    const writes = group.map(
      (pod): ObjectWrite => ({
        verb: 'create',
        resource: PODS,
        namespace: pod.metadata.namespace ?? '',
        object: pod,
      }),
    );
    const failures = await sendGroup(writes, context, signal, (result) => reportCreated(owner, result, context));
    const [failure] = failures.filter((error) => !isNamespaceTerminating(error));
    if (failure !== undefined) throw failure;
    if (failures.length > 0) return;
    start += group.length;
    size = Math.min(size * 2, MAX_GROUP);
  }
}

/** Creates one pod of an owner and reports it. Rejects with the error of the write, also in a terminating namespace. */
export async function createPod(owner: KubeObject, pod: Pod, context: PodWriter, signal: AbortSignal): Promise<void> {
  let result: Result;
  try {
    result = { object: await context.client.create(PODS, pod, signal) };
  } catch (error) {
    result = { error: asError(error) };
  }
  reportCreated(owner, result, context);
  if ('error' in result) throw result.error;
}

/** A pod changed after it was chosen for deletion because of its state: its owner has to choose again. */
export class PodChangedError extends Error {
  override readonly name = 'PodChangedError';
}

/**
 * Deletes these pods of an owner, and throws the first failure after all have been tried. A pod in `asSeen` is deleted only at its observed
 * version; if it has changed, `PodChangedError` is thrown and nothing is reported on the owner.
 */
export async function deletePods(
  owner: KubeObject,
  pods: readonly Pod[],
  context: PodWriter,
  signal: AbortSignal,
  asSeen: (pod: Pod) => boolean = () => false,
): Promise<void> {
  const failures: Error[] = [];
  const conflicts: Conflicted[] = [];
  for (let start = 0; start < pods.length; start += MAX_GROUP) {
    const group = pods.slice(start, start + MAX_GROUP);
    const writes = group.map((pod): ObjectWrite => {
      const { uid, resourceVersion } = pod.metadata;
      const seen = asSeen(pod) && resourceVersion !== undefined ? { resourceVersion } : {};
      const preconditions = uid === undefined ? seen : { uid, ...seen };
      return { verb: 'delete', resource: PODS, key: keyOf(pod), options: { preconditions } };
    });
    const report = (result: Result, i: number) => {
      const pod = group[i];
      if (pod !== undefined && 'error' in result && isReason(result.error, 'Conflict'))
        conflicts.push({ pod, error: result.error });
      else reportDeleted(owner, pod, result, context);
    };
    append(failures, await sendGroup(writes, context, signal, report));
  }
  const left = failures.filter((error) => !isReason(error, 'NotFound') && !isReason(error, 'Conflict'));
  for (const { pod, error } of conflicts) {
    if (!(await isStored(pod, context, signal))) continue;
    if (asSeen(pod)) {
      left.push(new PodChangedError(`pod ${pod.metadata.name} has changed since it was chosen`, { cause: error }));
      continue;
    }
    reportDeleted(owner, pod, { error }, context);
    left.push(error);
  }
  const [failure] = left;
  if (failure !== undefined) throw failure;
}

/**
 * Whether the store still has this pod. If so, a deletion rejected by a conflict is retried; otherwise another pod has its name and is not
 * deleted.
 */
export async function isStored(pod: Pod, { client }: Pick<PodWriter, 'client'>, signal: AbortSignal): Promise<boolean> {
  const stored = await ignoreNotFound(client.get(PODS, keyOf(pod), signal));
  return stored !== undefined && stored.metadata.uid === pod.metadata.uid;
}

/** A pod whose deletion was rejected: another pod has its name, or the server could not write at that moment. */
interface Conflicted {
  readonly pod: Pod;
  readonly error: Error;
}

/**
 * Deletes one pod of an owner and reports `SuccessfulDelete` or `FailedDelete` on the owner. A pod that is gone, or whose name now belongs
 * to another pod, is neither a success nor a failure.
 */
export async function deletePod(owner: KubeObject, pod: Pod, context: PodWriter, signal: AbortSignal): Promise<void> {
  await deletePods(owner, [pod], context, signal);
}

/** The result of a write. */
type Result = { readonly object: KubeObject } | { readonly error: Error };

/** Sends writes in one request and returns the failures. A request that fails as a whole is returned once. */
async function sendGroup(
  writes: readonly ObjectWrite[],
  { client }: PodWriter,
  signal: AbortSignal,
  report: (result: Result, index: number) => void,
): Promise<readonly Error[]> {
  signal.throwIfAborted();
  let results: readonly Result[];
  try {
    results = (await client.batch(writes, signal)).map((result) =>
      result.ok ? { object: result.object } : { error: StatusError.fromStatus(result.status) },
    );
  } catch (error) {
    signal.throwIfAborted();
    results = [{ error: asError(error) }];
  }
  results.forEach(report);
  return results.flatMap((result) => ('error' in result ? [result.error] : []));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : StatusError.internal(errorMessage(error));
}

function reportCreated(owner: KubeObject, result: Result, { events }: PodWriter): void {
  if ('object' in result) {
    events.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${result.object.metadata.name ?? ''}`);
  } else if (!isNamespaceTerminating(result.error)) {
    events.event(owner, 'Warning', 'FailedCreate', `Error creating: ${errorMessage(result.error)}`);
  }
}

function reportDeleted(owner: KubeObject, pod: Pod | undefined, result: Result, { events }: PodWriter): void {
  if ('object' in result) {
    events.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod?.metadata.name ?? ''}`);
  } else if (!isReason(result.error, 'NotFound')) {
    events.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${errorMessage(result.error)}`);
  }
}
