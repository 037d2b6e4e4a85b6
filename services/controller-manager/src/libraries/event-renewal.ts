import type { Result } from '@gantry/controller-runtime';

/**
 * The interval for renewing an Event about a lasting problem, before it expires one hour after it was last seen. Kubernetes' controllers
 * report more often: at every periodic sync or attempt.
 */
export const RENEWAL_MS = 30 * 60_000;

/** The result of a reconcile that has reported something: reconcile again in time to renew the Event. */
export function renewing({ requeueAfterMs = RENEWAL_MS }: Result): Result {
  return { requeueAfterMs: Math.min(requeueAfterMs, RENEWAL_MS) };
}
