import { type Container, isPodLevelResource, type PodSpec } from '@gantry/objects';
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

/** What the containers of a pod ask for or are limited to together, or while it starts its init containers, whichever is more. */
export function amountsOfContainers(spec: PodSpec, of: 'requests' | 'limits'): Amounts {
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
  return largestOf(running, starting);
}

/** What a pod asks for or is limited to: its containers, and instead of that what the pod says for itself. */
export function podAmounts(spec: PodSpec, of: 'requests' | 'limits'): Amounts {
  const said = Object.entries(spec.resources?.[of] ?? {}).filter(([name]) => isPodLevelResource(name));
  return { ...amountsOfContainers(spec, of), ...Object.fromEntries(said) };
}

/** The same with what the pod itself costs its node: its overhead adds to what is asked for, and to limits that it has. */
export function podAmountsWithOverhead(spec: PodSpec, of: 'requests' | 'limits'): Amounts {
  const amounts = podAmounts(spec, of);
  const overhead = Object.entries(spec.overhead ?? {}).filter(
    ([name]) => of === 'requests' || compareAmounts(amounts[name] ?? '0', '0') > 0,
  );
  return sumOf(amounts, Object.fromEntries(overhead));
}
