import { isReason, type StatusReason } from '@gantry/objects';

/** Settles as `call` does, but resolves with undefined when the object does not exist (any more). */
export function ignoreNotFound<T>(call: Promise<T>): Promise<T | undefined> {
  return ignoreReasons(call, ['NotFound']);
}

/** Settles as `call` does, but resolves with undefined when it fails with one of these reasons. */
export async function ignoreReasons<T>(call: Promise<T>, reasons: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (reasons.some((reason) => isReason(error, reason))) return undefined;
    throw error;
  }
}

/** Whether a create was rejected because its namespace is being deleted. All other creates in that namespace will be rejected too. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!isReason(error, 'Forbidden')) return false;
  return error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
}

/** Whether no server could handle the request: none was reached, none responded in time, or none of them can reach etcd. */
export function isOutage(error: unknown): boolean {
  return isReason(error, 'ServiceUnavailable') || isReason(error, 'Timeout');
}
