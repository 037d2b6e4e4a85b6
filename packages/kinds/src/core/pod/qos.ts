import {
  type PodSpec,
  type Quantity,
  type ResourceRequirements,
  addQuantity,
  compareQuantity,
  parseQuantity,
} from '@gantry/objects';

const QOS_RESOURCES = ['cpu', 'memory'];

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** The QoS class that follows from a pod's requests and limits. */
export function podQosClass(spec: PodSpec): QosClass {
  const own = spec.resources;
  const parts: (ResourceRequirements | undefined)[] =
    own !== undefined && (hasAny(own.requests) || hasAny(own.limits))
      ? [own]
      : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((container) => container.resources);
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  let limitedAlways = true;
  for (const resources of parts) {
    sumInto(requests, resources?.requests);
    const found = sumInto(limits, resources?.limits);
    if (!QOS_RESOURCES.every((name) => found.has(name))) limitedAlways = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = [...requests].every(([name, amount]) => {
    const limit = limits.get(name);
    return limit !== undefined && compareQuantity(limit, amount) === 0;
  });
  return limitedAlways && equal && requests.size === limits.size ? 'Guaranteed' : 'Burstable';
}

function hasAny(list: Record<string, string> | undefined): boolean {
  return QOS_RESOURCES.some((name) => list?.[name] !== undefined);
}

/** Adds the positive amounts of cpu and memory. Returns the names of resources with an amount. */
function sumInto(sums: Map<string, Quantity>, list: Record<string, string> | undefined): Set<string> {
  const found = new Set<string>();
  for (const name of QOS_RESOURCES) {
    const text = list?.[name];
    if (text === undefined) continue;
    const amount = parseQuantity(text);
    if (amount.nano <= 0n) continue;
    found.add(name);
    const before = sums.get(name);
    sums.set(name, before === undefined ? amount : addQuantity(before, amount));
  }
  return found;
}
