import type { Instant } from '@gantry/base';
import { type ContainerStatus, type Pod, sidecarNames } from '@gantry/objects';

/** Failures of a Job's pods since the last success, which determine how long the next pod waits. Kept in memory, as in Kubernetes. */
export interface BackoffRecord {
  readonly failures: number;
  readonly lastFailure: Instant;
}

export const NO_FAILURES: BackoffRecord = { failures: 0, lastFailure: 0 };

const FIRST_MS = 10_000;
const LONGEST_MS = 600_000;

/** The record after pods have newly ended. A success resets earlier failures. */
export function nextBackoff(record: BackoffRecord, succeeded: readonly Pod[], failed: readonly Pod[]): BackoffRecord {
  const failures = failed.map(finishedAt);
  if (succeeded.length === 0) {
    if (failures.length === 0) return record;
    return { failures: record.failures + failures.length, lastFailure: latest(failures) };
  }
  const lastSuccess = latest(succeeded.map(finishedAt));
  const later = failures.filter((at) => at > lastSuccess);
  return later.length === 0 ? NO_FAILURES : { failures: later.length, lastFailure: latest(later) };
}

/** Milliseconds that the next pod has to wait; 0 if it may start. */
export function backoffLeft({ failures, lastFailure }: BackoffRecord, now: Instant): number {
  if (failures === 0) return 0;
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  const elapsed = now - lastFailure;
  return delay < elapsed ? 0 : delay - elapsed;
}

/** When a pod ended: when its last container did (sidecars count), else when it became unready, was marked for deletion, or was created. */
export function finishedAt(pod: Pod): Instant {
  const { metadata, status } = pod;
  const sidecars = sidecarNames(pod);
  const containers = containersEnd([
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ]);
  if (containers !== undefined) return containers;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'False' && ready.lastTransitionTime != null) return Date.parse(ready.lastTransitionTime);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp);
}

/** The latest end; undefined unless all have ended. */
function containersEnd(statuses: readonly ContainerStatus[]): Instant | undefined {
  const ends = statuses.map(({ state }) => state?.terminated?.finishedAt ?? undefined);
  if (ends.length === 0 || ends.includes(undefined)) return undefined;
  return latest(ends.map((end) => Date.parse(end ?? '')));
}

function latest(times: readonly Instant[]): Instant {
  return times.reduce((a, b) => Math.max(a, b));
}
