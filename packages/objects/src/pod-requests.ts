import { combineContainers, type ListArithmetic } from './container-amounts.ts';
import type { Container, Pod } from './generated/types.ts';
import { QuantityError, quantityMilli, quantityValue } from './quantity.ts';

/** Amounts by resource name: `cpu` in millicores, all others in whole units. */
export type Amounts = Readonly<Record<string, number>>;

export const NO_AMOUNTS: Amounts = {};

/** Parses a resource list. An invalid quantity counts as 0: it may have been stored before validation. */
export function parseAmounts(list: Readonly<Record<string, string>> | undefined): Amounts {
  const out: Record<string, number> = {};
  for (const [name, text] of Object.entries(list ?? {})) {
    try {
      out[name] = name === 'cpu' ? quantityMilli(text) : quantityValue(text);
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      out[name] = 0;
    }
  }
  return out;
}

export function addAmounts(a: Amounts, b: Amounts): Amounts {
  const out: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) out[name] = (out[name] ?? 0) + amount;
  return out;
}

export function subtractAmounts(a: Amounts, b: Amounts): Amounts {
  const out: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) out[name] = (out[name] ?? 0) - amount;
  return out;
}

function maxAmounts(a: Amounts, b: Amounts): Amounts {
  const out: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) out[name] = Math.max(out[name] ?? 0, amount);
  return out;
}

const NUMBERS: ListArithmetic<Amounts> = { none: NO_AMOUNTS, sum: addAmounts, largest: maxAmounts };

/**
 * A pod's requests as Kubernetes' PodRequests computes them: for each resource the pod-level request, else the containers' requests; plus
 * overhead. A container that does not request a resource counts with the amount in `missing`.
 */
export function podRequests(pod: Pod, missing: Amounts = NO_AMOUNTS): Amounts {
  const { overhead } = pod.spec ?? {};
  const total = amountsOf(pod, 'requests', missing);
  return overhead === undefined ? total : addAmounts(total, parseAmounts(overhead));
}

/** A pod's limits as Kubernetes' PodLimits computes them. Overhead is added to limits that exist. */
export function podLimits(pod: Pod): Amounts {
  const total = amountsOf(pod, 'limits', NO_AMOUNTS);
  const overhead = Object.entries(parseAmounts(pod.spec?.overhead)).filter(([name]) => (total[name] ?? 0) > 0);
  return addAmounts(total, Object.fromEntries(overhead));
}

/** The names of a pod's pod-level resources. */
export function resourcesOfPod({ spec }: Pod): ReadonlySet<string> {
  const { requests = {}, limits = {} } = spec?.resources ?? {};
  return new Set([...Object.keys(requests), ...Object.keys(limits)].filter(isPodLevelResource));
}

function amountsOf(pod: Pod, of: 'requests' | 'limits', missing: Amounts): Amounts {
  const own = Object.entries(pod.spec?.resources?.[of] ?? {}).filter(([name]) => isPodLevelResource(name));
  const ofContainer = ({ resources }: Container): Amounts =>
    resources?.[of] === undefined ? missing : { ...missing, ...parseAmounts(resources[of]) };
  return { ...combineContainers(pod.spec, ofContainer, NUMBERS), ...parseAmounts(Object.fromEntries(own)) };
}

/** Whether a resource is allowed in a pod's `spec.resources` (Kubernetes' SupportedPodLevelResources). */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}
