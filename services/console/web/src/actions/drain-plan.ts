import { controllerOf, isFinalPhase, labelSelectorFrom, MIRROR_ANNOTATION } from '@gantry/objects';
import type { Pod, PodDisruptionBudget } from '@gantry/objects';

/** What a drain does with one pod. */
export interface DrainStep {
  readonly pod: Pod;
  readonly action: 'evict' | 'stays';
  /** Why it stays, or what is lost by its eviction. */
  readonly note: string;
  /** Somebody must agree to the loss. */
  readonly isLoss: boolean;
}

/** What `kubectl drain --ignore-daemonsets` would do with the pods of a node. Pods that have ended are evicted, too. */
export function planDrain(pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): readonly DrainStep[] {
  return pods.map((pod) => {
    if (pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
      return stays(pod, 'a static pod, which only its node can stop');
    const owner = controllerOf(pod);
    const isFinal = isFinalPhase(pod.status?.phase);
    if (owner?.kind === 'DaemonSet' && !isFinal) return stays(pod, `DaemonSet ${owner.name} would make it again here`);
    const losses: string[] = [];
    if (owner === undefined && !isFinal) losses.push('no controller will make it again');
    const scratch = (pod.spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined);
    if (scratch.length > 0 && !isFinal)
      losses.push(`its emptyDir ${scratch.map(({ name }) => name).join(', ')} is lost`);
    const waits = budgetsOf(pod, budgets)
      .filter(({ status }) => (status?.disruptionsAllowed ?? 0) === 0)
      .map(({ metadata }) => `budget ${metadata.name ?? ''} allows no eviction now: this one waits`);
    return { pod, action: 'evict', note: [...losses, ...waits].join('; '), isLoss: losses.length > 0 };
  });
}

/** The pods of `now` whose eviction loses something, and that were not so in the plan that somebody has seen: `namespace/name`. */
export function newLosses(seen: readonly DrainStep[], now: readonly DrainStep[]): readonly string[] {
  const known = new Set(seen.filter(({ isLoss }) => isLoss).map(({ pod }) => pod.metadata.uid));
  return now
    .filter(({ isLoss, pod }) => isLoss && !known.has(pod.metadata.uid))
    .map(({ pod: { metadata } }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
}

function stays(pod: Pod, note: string): DrainStep {
  return { pod, action: 'stays', note, isLoss: false };
}

function budgetsOf({ metadata }: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  return budgets.filter(
    (budget) =>
      budget.metadata.namespace === metadata.namespace &&
      budget.spec?.selector !== undefined &&
      labelSelectorFrom(budget.spec.selector).matches(metadata.labels),
  );
}
