import type { BackoffOptions } from '@gantry/base';
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

/** The longest delay after an outage, in milliseconds. */
const OUTAGE_MAX_MS = 1000;

/**
 * The delays after a failed request. During an outage, each request waits for a server by itself, for seconds. So its delays only decide how
 * late work goes on afterwards, and are short.
 */
export function backoffAfter(error: unknown, usual: BackoffOptions): BackoffOptions {
  if (!isOutage(error)) return usual;
  return { ...usual, initialMs: Math.min(usual.initialMs, OUTAGE_MAX_MS), maxMs: Math.min(usual.maxMs, OUTAGE_MAX_MS) };
}

/** Whether no server could handle the request: none was reached, none responded in time, or none of them can reach etcd. */
export function isOutage(error: unknown): boolean {
  return isReason(error, 'ServiceUnavailable') || isReason(error, 'Timeout');
}
