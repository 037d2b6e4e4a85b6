import type { EndpointSlice } from '@gantry/objects';
import type { ServedEndpoint } from './cluster-state.ts';

/**
 * The endpoints of a slice that names lead to: those that are ready. A slice of a Service with `publishNotReadyAddresses` says `ready` of
 * all. Without a condition an endpoint is ready, as the API defines it.
 */
export function servedEndpoints(slice: EndpointSlice): readonly ServedEndpoint[] {
  if (slice.addressType !== 'IPv4') return [];
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname }) => {
    // Consumers use the first address: the others have no meaning.
    const [address] = addresses;
    if (address === undefined || conditions?.ready === false) return [];
    return [{ address, label: endpointLabel(address, hostname) }];
  });
}

/** The first label of an endpoint's own name. */
function endpointLabel(address: string, hostname: string | undefined): string {
  return hostname === undefined || hostname === '' ? address.replaceAll('.', '-') : hostname.toLowerCase();
}
