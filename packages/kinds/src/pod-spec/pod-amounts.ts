import type { Container, PodSpec } from '@gantry/objects';
import { addAmounts, type Amounts, compareAmounts } from '../fields/amounts.ts';

/** Each amount of both added. */
function sumOf(left: Amounts, right: Amounts): Amounts {
  const sum: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    const present = sum[name];
    sum[name] = present === undefined ? amount : addAmounts(present, amount);
  }
  return sum;
}

function largestOf(left: Amounts, right: Amounts): Amounts {
  const largest: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    const present = largest[name];
    if (present === undefined || compareAmounts(amount, present) > 0) largest[name] = amount;
  }
  return largest;
}

/**
 * What a pod asks for or is limited to: its containers together, or while it starts what its init containers need, whichever
 * is more. What the pod says for itself counts instead, for cpu and memory.
 */
export function podAmounts(spec: PodSpec, of: 'requests' | 'limits'): Amounts {
  const own = (container: Container): Amounts => container.resources?.[of] ?? {};
  let running: Amounts = (spec.containers ?? []).reduce<Amounts>((sum, one) => sumOf(sum, own(one)), {});
  let beside: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const amounts = own(container);
    if (container.restartPolicy === 'Always') {
      running = sumOf(running, amounts);
      beside = sumOf(beside, amounts);
      starting = largestOf(starting, beside);
    } else starting = largestOf(starting, sumOf(amounts, beside));
  }
  const said = spec.resources?.[of] ?? {};
  const counted = Object.entries(said).filter(
    ([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'),
  );
  return { ...largestOf(running, starting), ...Object.fromEntries(counted) };
}

/** The same with what the pod itself costs its node: its overhead adds to what is asked for, and to limits that it has. */
export function podAmountsWithOverhead(spec: PodSpec, of: 'requests' | 'limits'): Amounts {
  const amounts = podAmounts(spec, of);
  const overhead = Object.entries(spec.overhead ?? {}).filter(
    ([name]) => of === 'requests' || compareAmounts(amounts[name] ?? '0', '0') > 0,
  );
  return sumOf(amounts, Object.fromEntries(overhead));
}
