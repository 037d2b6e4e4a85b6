import { formatTime, type Instant } from '@gantry/base';
import type { Node, Pod, PodCondition, Taint, Toleration } from '@gantry/api';

/** What becomes of a pod under its node's NoExecute taints. */
export type Eviction =
  | { readonly kind: 'stays' }
  /** It is tolerated for a while. */
  | { readonly kind: 'evictAt'; readonly at: Instant };

/** Whether and when a pod has to leave its node. A pod on no node, or that is going already, stays. */
export function planEviction(pod: Pod, node: Node | undefined, now: Instant): Eviction {
  if (node === undefined || pod.metadata.deletionTimestamp !== undefined) return { kind: 'stays' };
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return { kind: 'stays' };
  let at = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const tolerations = (pod.spec?.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (tolerations.length === 0) return { kind: 'evictAt', at: now };
    for (const { tolerationSeconds } of tolerations) {
      if (tolerationSeconds === undefined) continue;
      const since = taint.timeAdded === undefined ? now : Date.parse(taint.timeAdded);
      at = Math.min(at, since + Math.max(0, tolerationSeconds) * 1000);
    }
  }
  return Number.isFinite(at) ? { kind: 'evictAt', at } : { kind: 'stays' };
}

/** Whether a toleration is about this taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return key !== '' && operator === 'Equal' && value === (taint.value ?? '');
}

/** The condition that says why a pod is deleted. */
export function disruptionTarget(reason: string, message: string, now: Instant): PodCondition {
  return { type: 'DisruptionTarget', status: 'True', reason, message, lastTransitionTime: formatTime(now) };
}
