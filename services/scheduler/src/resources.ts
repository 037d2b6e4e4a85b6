import { type Container, type Pod, QuantityError, quantityMilli, quantityValue } from '@gantry/api';

/** Amounts by resource name: `cpu` in thousandths, everything else in whole units. */
export type Amounts = Readonly<Record<string, number>>;

export const NO_AMOUNTS: Amounts = {};

/** Amounts of a resource list. One that is no quantity counts as nothing: the API server let it through before a rule existed. */
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

/**
 * What a pod takes from its node: its containers together with the sidecars, or the largest moment of its init containers, which run one
 * after the other beside the sidecars that were started before them; plus its overhead.
 */
export function podRequests(pod: Pod): Amounts {
  const spec = pod.spec;
  let running = NO_AMOUNTS;
  for (const container of spec?.containers ?? []) running = addAmounts(running, requestsOf(container));
  let sidecars = NO_AMOUNTS;
  let initPeak = NO_AMOUNTS;
  for (const container of spec?.initContainers ?? []) {
    const own = requestsOf(container);
    if (container.restartPolicy === 'Always') {
      sidecars = addAmounts(sidecars, own);
      initPeak = maxAmounts(initPeak, sidecars);
    } else initPeak = maxAmounts(initPeak, addAmounts(sidecars, own));
  }
  const total = maxAmounts(addAmounts(running, sidecars), initPeak);
  return spec?.overhead === undefined ? total : addAmounts(total, parseAmounts(spec.overhead));
}

function requestsOf(container: Container): Amounts {
  return container.resources?.requests === undefined ? NO_AMOUNTS : parseAmounts(container.resources.requests);
}
