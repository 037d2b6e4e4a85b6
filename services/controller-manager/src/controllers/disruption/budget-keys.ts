import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import {
  controllerOf,
  equalJson,
  formatKey,
  keyOf,
  type KubeObject,
  labelSelectorFrom,
  type ObjectKey,
  type Pod,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  PODS,
  type Resource,
} from '@gantry/objects';
import { isReady } from '../../libraries/pods/pod-state.ts';

type Scaled = KubeObject & { readonly spec?: { readonly replicas?: number } };

/** The pods that a budget selects, by name. */
export function podsOf({ metadata, spec }: PodDisruptionBudget, cache: Cache): readonly Pod[] {
  const selector = labelSelectorFrom(spec?.selector);
  return cache
    .labelled(PODS, metadata.namespace ?? '', spec?.selector?.matchLabels ?? {})
    .filter((pod) => selector.matches(pod.metadata.labels))
    .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

/** Queues the budgets of a pod if the change affects their counts. */
export const watchCountedPods: WatchSpec<Pod> = {
  resource: PODS,
  keys: (pod, old, cache) => (isCountedAsBefore(pod, old) ? [] : budgetKeys([pod, old], cache)),
};

/**
 * Queues the budgets of the pods under an object when its desired replicas or its controller change. Also when another object takes its
 * name, because that change may be the first one seen.
 */
export function watchScale<T extends Scaled>(
  resource: Resource<T>,
  podsUnder: (object: T, cache: Cache) => readonly Pod[],
): WatchSpec<T> {
  return {
    resource,
    keys: (object, old, cache) =>
      object === undefined || isScaledAsBefore(object, old) ? [] : budgetKeys(podsUnder(object, cache), cache),
  };
}

export function controlledPods({ metadata }: KubeObject, cache: Cache): readonly Pod[] {
  return cache.controlledBy(PODS, metadata.namespace ?? '', metadata.uid ?? '');
}

function budgetKeys(pods: readonly (Pod | undefined)[], cache: Cache): readonly ObjectKey[] {
  const keys = new Map<string, ObjectKey>();
  for (const pod of pods) {
    if (pod === undefined) continue;
    const { namespace = '', labels = {} } = pod.metadata;
    for (const budget of cache.selecting(POD_DISRUPTION_BUDGETS, namespace, labels)) {
      const key = keyOf(budget);
      if (labelSelectorFrom(budget.spec?.selector).matches(labels)) keys.set(formatKey(key), key);
    }
  }
  return [...keys.values()];
}

function isScaledAsBefore(object: Scaled, old: Scaled | undefined): boolean {
  return (
    object.metadata.uid === old?.metadata.uid &&
    object.spec?.replicas === old?.spec?.replicas &&
    controllerOf(object)?.uid === controllerOf(old)?.uid
  );
}

function isCountedAsBefore(pod: Pod | undefined, old: Pod | undefined): boolean {
  if (pod === undefined || old === undefined) return false;
  return (
    isReady(pod) === isReady(old) &&
    pod.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
    controllerOf(pod)?.uid === controllerOf(old)?.uid &&
    equalJson(pod.metadata.labels ?? {}, old.metadata.labels ?? {})
  );
}
