import { labelSelectorFrom, type Pod, POD_DISRUPTION_BUDGETS, type PodDisruptionBudget, PODS } from '@gantry/objects';
import { isReady } from '../readiness.ts';
import { type Change, isOf, type World } from '../world.ts';
import { describeChange, type Invariant } from './invariant.ts';

/**
 * An eviction leaves as many healthy pods as a budget demands. After the pods of a budget have changed in another way, the budget is not
 * checked until it has counted them again.
 */
export const budgetInvariant: Invariant = {
  name: 'I18: no eviction violates a budget',
  watch: (world, report) => {
    const outdated = new Set<string>();
    world.subscribe((change) => {
      if (isOf(change, POD_DISRUPTION_BUDGETS)) {
        const budget: PodDisruptionBudget | undefined = change.object;
        const uid = (change.object ?? change.old)?.metadata.uid ?? '';
        if (budget !== undefined && budget.status?.currentHealthy === healthyOf(world, budget).length)
          outdated.delete(uid);
        else if (change.old?.metadata.uid !== uid) outdated.add(uid);
      } else if (isOf(change, PODS)) takePod(outdated, world, change, report);
    });
  },
};

function takePod(outdated: Set<string>, world: World, change: Change, report: (text: string) => void): void {
  const [pod, old]: readonly (Pod | undefined)[] = [change.object, change.old];
  if (old === undefined || !isHealthy(old) || (pod !== undefined && isHealthy(pod))) return;
  const evicted = pod !== undefined && isEvicted(pod);
  for (const budget of world.all(POD_DISRUPTION_BUDGETS)) {
    if (!isAbout(budget, old)) continue;
    const uid = budget.metadata.uid ?? '';
    if (!evicted) outdated.add(uid);
    const healthy = healthyOf(world, budget).length;
    const { desiredHealthy = 0, observedGeneration } = budget.status ?? {};
    if (!evicted || outdated.has(uid) || observedGeneration !== budget.metadata.generation) continue;
    if (healthy < desiredHealthy)
      report(`${describeChange(change)}: ${healthy} healthy pods left of ${desiredHealthy}`);
  }
}

/** Whether a user has asked for the pod's eviction. */
export function isEvicted({ status }: Pod): boolean {
  return (
    status?.conditions?.some(({ type, reason }) => type === 'DisruptionTarget' && reason === 'EvictionByEvictionAPI') ??
    false
  );
}

function isHealthy(pod: Pod): boolean {
  return isReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

function isAbout({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  return (
    metadata.namespace === pod.metadata.namespace && labelSelectorFrom(spec?.selector).matches(pod.metadata.labels)
  );
}

function healthyOf(world: World, budget: PodDisruptionBudget): readonly Pod[] {
  return world.all(PODS).filter((pod) => isAbout(budget, pod) && isHealthy(pod));
}
