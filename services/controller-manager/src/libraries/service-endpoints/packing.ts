import { type Endpoint, type EndpointSlice, equalJson } from '@gantry/objects';

/** The changes after which slices contain the wanted endpoints. */
export interface SliceChanges {
  readonly create: readonly EndpointSlice[];
  /** The new content of existing slices, with the same names. */
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/** The endpoints of a slice. Like Kubernetes, the API returns `null` for none. */
export function endpointsOf({ endpoints }: EndpointSlice): readonly Endpoint[] {
  return endpoints ?? [];
}

/** A unique text for an endpoint, without its conditions and node. */
export function endpointId({ addresses, hostname = '', targetRef }: Endpoint): string {
  const [first = ''] = addresses;
  const all = addresses.length < 2 ? first : [...addresses].sort().join(' ');
  return `${all} ${hostname} ${targetRef?.namespace ?? ''} ${targetRef?.name ?? ''}`;
}

/** Whether two endpoints with the same identity are equal, except for hints and the version of the target. */
export function equalEndpoints(a: Endpoint, b: Endpoint): boolean {
  return (
    a.nodeName === b.nodeName &&
    a.zone === b.zone &&
    a.conditions?.ready === b.conditions?.ready &&
    a.conditions?.serving === b.conditions?.serving &&
    a.conditions?.terminating === b.conditions?.terminating &&
    a.targetRef?.uid === b.targetRef?.uid &&
    a.targetRef?.kind === b.targetRef?.kind &&
    a.targetRef?.apiVersion === b.targetRef?.apiVersion &&
    a.targetRef?.fieldPath === b.targetRef?.fieldPath
  );
}

/** Parameters for packing the slices of one set of ports. */
interface Packing {
  readonly max: number;
  /** The labels that every slice of the Service has. */
  readonly labels: Readonly<Record<string, string>>;
  readonly newSlice: () => EndpointSlice;
}

/**
 * Distributes the wanted endpoints over slices with few writes, as Kubernetes does. Endpoints stay in their slice. Slices that change
 * anyway are filled, fullest first. The rest goes into the one slice that it fills best, else into new ones.
 */
export function packSlices(
  existing: readonly EndpointSlice[],
  endpoints: readonly Endpoint[],
  { max, labels, newSlice }: Packing,
): SliceChanges {
  const wanted = new Map(endpoints.map((endpoint) => [endpointId(endpoint), endpoint]));
  const { kept, changed, remove } = keepEndpoints(existing, wanted, labels);
  const left = [...wanted.values()];
  changed.sort((a, b) => endpointsOf(b).length - endpointsOf(a).length);
  const update = changed.map((slice) => fill(slice, left, max));
  const create: EndpointSlice[] = [];
  while (left.length > 0) {
    const index = left.length < max ? indexToFill(kept, left.length, max) : -1;
    const [target] = index < 0 ? [] : kept.splice(index, 1);
    if (target === undefined) create.push(fill(newSlice(), left, max));
    else update.push(fill(target, left, max));
  }
  return { create, update, remove };
}

/** Sorts existing slices by their changes. Removes endpoints that are in a slice already from `wanted`. */
function keepEndpoints(
  existing: readonly EndpointSlice[],
  wanted: Map<string, Endpoint>,
  labels: Readonly<Record<string, string>>,
): { kept: EndpointSlice[]; changed: EndpointSlice[]; remove: EndpointSlice[] } {
  const kept: EndpointSlice[] = [];
  const changed: EndpointSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const slice of existing) {
    const before = endpointsOf(slice);
    const endpoints: Endpoint[] = [];
    let isUpdated = false;
    for (const endpoint of before) {
      const id = endpointId(endpoint);
      const now = wanted.get(id);
      if (now === undefined) continue;
      wanted.delete(id);
      isUpdated ||= !equalEndpoints(now, endpoint);
      endpoints.push(now);
    }
    const metadata = { ...slice.metadata, labels: { ...labels } };
    if (isUpdated || endpoints.length !== before.length) {
      if (endpoints.length === 0) remove.push(slice);
      else changed.push({ ...slice, metadata, endpoints });
    } else if (!equalJson(slice.metadata.labels ?? {}, labels)) changed.push({ ...slice, metadata });
    else kept.push(slice);
  }
  return { kept, changed, remove };
}

/** Moves endpoints from the front of `left` into a copy of the slice. */
function fill(slice: EndpointSlice, left: Endpoint[], max: number): EndpointSlice {
  const endpoints = endpointsOf(slice);
  return { ...slice, endpoints: [...endpoints, ...left.splice(0, Math.max(0, max - endpoints.length))] };
}

/** The index of the slice that would be closest to full with `count` more; -1 if none has room. */
function indexToFill(slices: readonly EndpointSlice[], count: number, max: number): number {
  let best = -1;
  let least = max;
  slices.forEach((slice, index) => {
    const room = max - (count + endpointsOf(slice).length);
    if (room >= 0 && room < least) [best, least] = [index, room];
  });
  return best;
}
