import type { Result } from '@gantry/controller-runtime';

/**
 * When an Event about what is not as it should be is renewed, if it still is not: before the Event expires, which it does an hour
 * after it was last seen. Kubernetes' controllers report it more often: with every periodic look, or with every attempt.
 */
export const RENEWAL_MS = 30 * 60_000;

/** The result of a reconcile that has reported something: look again in time to renew the Event. */
export function renewing({ requeueAfterMs = RENEWAL_MS }: Result): Result {
  return { requeueAfterMs: Math.min(requeueAfterMs, RENEWAL_MS) };
}
