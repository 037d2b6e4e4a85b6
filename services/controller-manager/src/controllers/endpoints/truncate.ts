import type { EndpointSubset } from '@gantry/objects';

/** Marks Endpoints that leave out addresses. */
export const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const MAX_ADDRESSES = 1000;

/**
 * Keeps at most 1,000 addresses, ready ones first: as many of each subset as is its share, rounded up while there is room.
 */
export function truncate(subsets: readonly EndpointSubset[]): {
  readonly subsets: readonly EndpointSubset[];
  readonly isTruncated: boolean;
} {
  const ready = count(subsets, 'addresses');
  const notReady = count(subsets, 'notReadyAddresses');
  if (ready + notReady <= MAX_ADDRESSES) return { subsets, isTruncated: false };
  const cutsReady = ready > MAX_ADDRESSES;
  const part = cutsReady ? 'addresses' : 'notReadyAddresses';
  const total = cutsReady ? ready : notReady;
  const max = cutsReady ? MAX_ADDRESSES : MAX_ADDRESSES - ready;
  let room = max;
  const cut = subsets.map((subset): EndpointSubset => {
    const before = subset[part] ?? [];
    const kept = before.slice(0, Math.min(room, Math.ceil((before.length / total) * max)));
    room -= kept.length;
    const { notReadyAddresses: _, ...rest } = subset;
    if (cutsReady) return { ...rest, addresses: kept };
    return kept.length === 0 ? rest : { ...rest, notReadyAddresses: kept };
  });
  const isEmpty = ({ addresses = [], notReadyAddresses = [] }: EndpointSubset) =>
    addresses.length + notReadyAddresses.length === 0;
  return { subsets: cut.filter((subset) => !isEmpty(subset)), isTruncated: true };
}

function count(subsets: readonly EndpointSubset[], part: 'addresses' | 'notReadyAddresses'): number {
  return subsets.reduce((sum, subset) => sum + (subset[part] ?? []).length, 0);
}
