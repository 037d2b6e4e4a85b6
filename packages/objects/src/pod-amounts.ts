import { combineContainers, type ListArithmetic } from './container-amounts.ts';
import type { PodSpec } from './generated/types.ts';
import { isPodLevelResource } from './pod-requests.ts';
import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from './quantity.ts';

type Texts = Readonly<Record<string, string>>;
type Quantities = Readonly<Record<string, Quantity>>;

/** What the containers of a pod request, or are limited to, together. Exact, as the API writes it; throws QuantityError. */
export function containerAmounts(spec: PodSpec, of: 'requests' | 'limits'): Texts {
  return textsOf(ofContainers(spec, of));
}

/** What a pod requests, or is limited to, without its overhead: of each resource what it says at pod level, else what its containers do. */
export function podAmounts(spec: PodSpec, of: 'requests' | 'limits'): Texts {
  return textsOf(ofPod(spec, of));
}

/** The same with the pod's overhead, which adds to what is requested, and to limits that the pod has. */
export function podAmountsWithOverhead(spec: PodSpec, of: 'requests' | 'limits'): Texts {
  const amounts = ofPod(spec, of);
  const overhead = Object.entries(quantitiesOf(spec.overhead)).filter(
    ([name]) => of === 'requests' || (amounts[name]?.nano ?? 0n) > 0n,
  );
  return textsOf(sumOf(amounts, Object.fromEntries(overhead)));
}

function ofPod(spec: PodSpec, of: 'requests' | 'limits'): Quantities {
  const said = Object.entries(spec.resources?.[of] ?? {}).filter(([name]) => isPodLevelResource(name));
  return { ...ofContainers(spec, of), ...quantitiesOf(Object.fromEntries(said)) };
}

function ofContainers(spec: PodSpec, of: 'requests' | 'limits'): Quantities {
  return combineContainers(spec, ({ resources }) => quantitiesOf(resources?.[of]), EXACT);
}

function sumOf(left: Quantities, right: Quantities): Quantities {
  const sum: Record<string, Quantity> = { ...left };
  for (const [name, quantity] of Object.entries(right)) {
    const present = sum[name];
    sum[name] = present === undefined ? quantity : addQuantity(present, quantity);
  }
  return sum;
}

function largestOf(left: Quantities, right: Quantities): Quantities {
  const largest: Record<string, Quantity> = { ...left };
  for (const [name, quantity] of Object.entries(right)) {
    const present = largest[name];
    if (present === undefined || compareQuantity(quantity, present) > 0) largest[name] = quantity;
  }
  return largest;
}

const EXACT: ListArithmetic<Quantities> = { none: {}, sum: sumOf, largest: largestOf };

function quantitiesOf(list: Texts | undefined): Quantities {
  return Object.fromEntries(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** A sum may be more than a quantity can be: it is written as it is read again. */
function textsOf(quantities: Quantities): Texts {
  const texts = Object.entries(quantities).map(([name, quantity]) => [
    name,
    canonicalQuantity(formatQuantity(quantity)),
  ]);
  return Object.fromEntries(texts);
}
