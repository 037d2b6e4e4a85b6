import type { Instant } from '@gantry/base';
import { type Pod, resolveIntOrPercent, type StatefulSet } from '@gantry/objects';
import { revisionOf } from './identity.ts';
import { isUnavailable } from './status.ts';

/**
 * The outdated pods that an update deletes now, highest ordinal first, at or above the partition. `slots` are the pods in range
 * by index, undefined where one is missing. Without `maxUnavailable`, one goes at a time, and pods above it must be available;
 * with it, as many as it leaves, counting all pods in range that are not available.
 */
export function podsToUpdate(
  set: StatefulSet,
  updateName: string,
  slots: readonly (Pod | undefined)[],
  now: Instant,
): readonly Pod[] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  const isOutdated = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined && pod.metadata.deletionTimestamp === undefined && revisionOf(pod) !== updateName;
  const isMissing = (pod: Pod | undefined) => pod === undefined || isUnavailable(pod, set, now);
  const targets = slots.slice(rollingUpdate?.partition ?? 0).reverse();
  if (rollingUpdate?.maxUnavailable === undefined) {
    const next = targets.find((pod) => isOutdated(pod) || isMissing(pod));
    return isOutdated(next) ? [next] : [];
  }
  const allowed = Math.max(1, resolveIntOrPercent(rollingUpdate.maxUnavailable, slots.length, 'down'));
  return targets.filter(isOutdated).slice(0, Math.max(0, allowed - slots.filter(isMissing).length));
}
