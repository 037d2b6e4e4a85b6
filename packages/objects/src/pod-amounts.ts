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

/** The combined requests or limits of a pod's containers. Exact, in the API's format; throws QuantityError. */
export function containerAmounts(spec: PodSpec, of: 'requests' | 'limits'): Texts {
  return textsOf(ofContainers(spec, of));
}

/** The requests or limits of a pod without overhead: for each resource the pod-level value, else the containers' sum. */
export function podAmounts(spec: PodSpec, of: 'requests' | 'limits'): Texts {
  return textsOf(ofPod(spec, of));
}

/** The same plus the pod's overhead, which is added to requests, and to limits that the pod has. */
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

/** Formats quantities. A sum may exceed the maximum quantity, so it is capped as in parsing. */
function textsOf(quantities: Quantities): Texts {
  const texts = Object.entries(quantities).map(([name, quantity]) => [
    name,
    canonicalQuantity(formatQuantity(quantity)),
  ]);
  return Object.fromEntries(texts);
}
