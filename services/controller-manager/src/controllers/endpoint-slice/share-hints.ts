import { type Endpoint, type EndpointSlice, equalJson } from '@gantry/objects';
import { endpointsOf, type SliceChanges } from '../../libraries/service-endpoints/packing.ts';
import { allocate, type Allocation, type ZoneShares } from './zone-shares.ts';

type Allocations = ReadonlyMap<string, Allocation>;

/** Numbers by zone. */
type ZoneCounts = Map<string, number>;

/** Smaller amounts are not transferred to another zone. */
const LEAST = 0.5;

/**
 * Sets hints so that each zone gets its share of endpoints, as in Kubernetes: endpoints stay in their zone, except for the surplus. Slices
 * that are not written keep their hints if these are still possible. `refused` is the reason why there are no hints.
 */
export function shareHints(
  shares: ZoneShares | undefined,
  changes: SliceChanges,
  unchanged: readonly EndpointSlice[],
): SliceChanges | { readonly refused: string } {
  const all = [...changes.create, ...changes.update, ...unchanged];
  const ready = all.flatMap((slice) => endpointsOf(slice).filter(isReady)).length;
  const allocations = allocate(shares, ready);
  if ('refused' in allocations) return allocations;
  const { hinted, stale } = keepHints(unchanged, allocations);
  const written = [...changes.create, ...changes.update, ...stale].flatMap((slice) =>
    endpointsOf(slice).filter(isReady),
  );
  if (written.some(({ zone = '' }) => zone === '')) {
    return { refused: 'One or more endpoints do not have a zone specified' };
  }
  for (const { zone = '' } of written) add(hinted, zone, 1);
  if (hinted.size === 0) return { refused: 'No hints allocated for zones' };
  const transfers = planTransfers(allocations, hinted);
  const hint = (slice: EndpointSlice): EndpointSlice => ({
    ...slice,
    endpoints: endpointsOf(slice).map((endpoint) => withZoneHint(endpoint, transfers)),
  });
  const create = changes.create.map(hint);
  const updated = changes.update.map(hint);
  const corrected = stale.flatMap((slice) => {
    const next = hint(slice);
    return equalJson(next, slice) ? [] : [next];
  });
  return { create, update: [...updated, ...corrected], remove: changes.remove };
}

/** Counts the hints of slices by zone, and finds slices whose hints are no longer possible. */
function keepHints(
  slices: readonly EndpointSlice[],
  allocations: Allocations,
): { readonly hinted: ZoneCounts; readonly stale: readonly EndpointSlice[] } {
  const hinted: ZoneCounts = new Map();
  const stale = slices.filter((slice) => {
    const own = hintsOf(slice);
    const isPossible = (zone: string, count: number) =>
      (hinted.get(zone) ?? 0) + count <= (allocations.get(zone)?.maximum ?? -1);
    if (own === undefined || ![...own].every(([zone, count]) => isPossible(zone, count))) return true;
    for (const [zone, count] of own) add(hinted, zone, count);
    return false;
  });
  return { hinted, stale };
}

/** The hints of a slice's ready endpoints, counted by zone; undefined if an endpoint has none. */
function hintsOf(slice: EndpointSlice): ZoneCounts | undefined {
  const counts: ZoneCounts = new Map();
  for (const { hints } of endpointsOf(slice).filter(isReady)) {
    const zones = hints?.forZones ?? [];
    if (zones.length === 0) return undefined;
    for (const { name } of zones) add(counts, name, 1);
  }
  return counts;
}

/** The number of endpoints that zones give to others, and that others receive. Both decrease while hints are assigned. */
interface Transfers {
  readonly give: ZoneCounts;
  readonly receive: ZoneCounts;
}

function planTransfers(allocations: Allocations, hinted: ZoneCounts): Transfers {
  const surplus: ZoneCounts = new Map();
  const lack: ZoneCounts = new Map();
  for (const [zone, { desired }] of allocations) {
    const difference = (hinted.get(zone) ?? 0) - desired;
    if (difference > 0) surplus.set(zone, difference);
    else if (difference < 0) lack.set(zone, -difference);
  }
  const transfers: Transfers = { give: new Map(), receive: new Map() };
  for (;;) {
    const [giving, toGive] = most(surplus);
    const [receiving, toReceive] = most(lack);
    if ((toGive < 1 && toReceive < 1) || toGive < LEAST || toReceive < LEAST) return transfers;
    add(transfers.give, giving, 1);
    add(surplus, giving, -1);
    add(transfers.receive, receiving, 1);
    add(lack, receiving, -1);
  }
}

function withZoneHint(endpoint: Endpoint, { give, receive }: Transfers): Endpoint {
  const { hints: _, ...rest } = endpoint;
  const { zone = '' } = endpoint;
  if (!isReady(endpoint)) return rest;
  const receiving = (give.get(zone) ?? 0) > 0 ? [...receive].find(([, count]) => count > 0)?.[0] : undefined;
  if (receiving !== undefined) {
    add(give, zone, -1);
    add(receive, receiving, -1);
  }
  return { ...rest, hints: { forZones: [{ name: receiving ?? zone }] } };
}

function most(counts: ZoneCounts): readonly [zone: string, count: number] {
  return [...counts].reduce<readonly [string, number]>((best, one) => (one[1] > best[1] ? one : best), ['', 0]);
}

function add(counts: ZoneCounts, zone: string, count: number): void {
  counts.set(zone, (counts.get(zone) ?? 0) + count);
}

function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready === true;
}
