import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import { equalJson, formatKey, keyOf, type ObjectKey, type Pod, PODS, type Service, SERVICES } from '@gantry/objects';
import { isReady } from '../pods/pod-state.ts';

/** The pods that a Service selects, by name. */
export function podsOf({ metadata, spec }: Service, cache: Cache): readonly Pod[] {
  const selector = Object.entries(spec?.selector ?? {});
  return cache
    .labelled(PODS, metadata.namespace ?? '', spec?.selector ?? {})
    .filter(({ metadata: { labels = {} } }) => selector.every(([name, value]) => labels[name] === value))
    .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

/** Queues the Services that select a pod, before or after a change, when the change may concern their endpoints. */
export const watchServicePods: WatchSpec<Pod> = {
  resource: PODS,
  keys: (pod, old, cache) => (isSameEndpoint(pod, old) ? [] : servicesOf([old, pod], cache)),
};

/** Keys of the Services that select any of these pods. */
export function servicesOf(pods: readonly (Pod | undefined)[], cache: Cache): readonly ObjectKey[] {
  const keys = new Map<string, ObjectKey>();
  for (const pod of pods) {
    if (pod === undefined) continue;
    const { namespace = '', labels = {} } = pod.metadata;
    for (const service of cache.selecting(SERVICES, namespace, labels)) {
      const selector = Object.entries(service.spec?.selector ?? {});
      if (selector.length === 0 || !selector.every(([name, value]) => labels[name] === value)) continue;
      const key = keyOf(service);
      keys.set(formatKey(key), key);
    }
  }
  return [...keys.values()];
}

function isSameEndpoint(pod: Pod | undefined, old: Pod | undefined): boolean {
  if (pod === undefined || old === undefined) return false;
  return (
    pod.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
    isReady(pod) === isReady(old) &&
    pod.status?.phase === old.status?.phase &&
    pod.spec?.nodeName === old.spec?.nodeName &&
    pod.spec?.hostname === old.spec?.hostname &&
    pod.spec?.subdomain === old.spec?.subdomain &&
    equalJson(pod.status?.podIPs ?? [], old.status?.podIPs ?? []) &&
    equalJson(pod.metadata.labels ?? {}, old.metadata.labels ?? {})
  );
}
