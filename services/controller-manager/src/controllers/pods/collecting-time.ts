/** Smaller sets are reconciled at every change. */
const SMALL_SET = 100;
const MS_PER_POD = 0.5;
const MAX_MS = 1000;

/**
 * How long changes of the pods of an owner may be collected, in milliseconds. A reconcile looks at all its pods, and while many
 * become ready or go, each change would cause one and a write of the status: large sets collect changes, so that the work
 * stays in proportion to the pods.
 */
export function collectingTimeMs(pods: number): number {
  return pods < SMALL_SET ? 0 : Math.min(pods * MS_PER_POD, MAX_MS);
}
