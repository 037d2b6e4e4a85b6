import type { Cache, WatchSpec } from '@gantry/controller-runtime';
import {
  equalJson,
  formatKey,
  hasEnded,
  keyOf,
  type ObjectKey,
  type Pod,
  PODS,
  type Service,
  SERVICES,
} from '@gantry/objects';
import { isReady } from '../pods/pod-state.ts';

/** The pods that a Service selects, by name. */
export function podsOf({ metadata, spec }: Service, cache: Cache): readonly Pod[] {
  const selector = Object.entries(spec?.selector ?? {});
  return cache
    .labelled(PODS, metadata.namespace ?? '', spec?.selector ?? {})
    .filter(({ metadata: { labels = {} } }) => selector.every(([name, value]) => labels[name] === value))
    .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

/** Queues the Services that select a pod before or after a change, if the change may affect their endpoints. */
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

/** The times of a Service and its pods at the last planning of its endpoints (RFC 3339, seconds). */
export interface SeenTimes {
  readonly service: string;
  /** By pod. */
  readonly pods: ReadonlyMap<string, string>;
}

/** The times to remember, and the earliest that is newer than in `before`; at first the Service's creation time. */
export function triggerTime(
  before: SeenTimes | undefined,
  service: Service,
  pods: readonly Pod[],
): { readonly seen: SeenTimes; readonly time: string | undefined } {
  const created = service.metadata.creationTimestamp ?? '';
  const times = new Map<string, string>();
  let earliest: string | undefined;
  const note = (time: string, old: string): void => {
    if (time > old && (earliest === undefined || time < earliest)) earliest = time;
  };
  for (const { metadata, status } of pods) {
    const time = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
    if (time === '') continue;
    const { name = '' } = metadata;
    times.set(name, time);
    note(time, before?.pods.get(name) ?? '');
  }
  note(created, before?.service ?? '');
  const time = before === undefined ? created : (earliest ?? '');
  return { seen: { service: created, pods: times }, time: time === '' ? undefined : time };
}

/** Label on objects of a headless Service. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** Whether controllers manage the endpoints of a Service: it selects pods and is not an ExternalName. */
export function hasOwnEndpoints({ spec }: Service): boolean {
  return spec?.type !== 'ExternalName' && selectsPods(spec);
}

/** Whether a Service has a selector. */
export function selectsPods(spec: Service['spec']): boolean {
  return Object.keys(spec?.selector ?? {}).length > 0;
}

export function isHeadless({ spec }: Service): boolean {
  return spec?.clusterIP === 'None' || (spec?.clusterIP ?? '') === '';
}

/** Whether a pod can be an endpoint: it has an address and has not ended. */
export function isEndpoint(pod: Pod): boolean {
  if (hasEnded(pod)) return false;
  const { status } = pod;
  return (status?.podIP ?? '') !== '' || (status?.podIPs ?? []).length > 0;
}

/** The addresses of a pod as it reports them. */
export function addressesOf({ status }: Pod): readonly string[] {
  return (status?.podIPs ?? []).map(({ ip }) => ip);
}

/** The host name of a pod within a Service, if its subdomain names the Service. */
export function hostnameIn({ metadata, spec }: Pod, service: Service): string | undefined {
  const { hostname = '', subdomain } = spec ?? {};
  const isNamed = hostname !== '' && subdomain === service.metadata.name;
  return isNamed && metadata.namespace === service.metadata.namespace ? hostname : undefined;
}
