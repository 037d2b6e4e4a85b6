import { type Endpoints, type EndpointSlice, equalJson } from '@gantry/api';

/** Where clients in the cluster find the API servers: both have its name. */
export const KUBERNETES = { namespace: 'default', name: 'kubernetes' } as const;
const PORT_NAME = 'https';

export type Action =
  | { readonly kind: 'create' | 'update'; readonly what: 'endpoints'; readonly object: Endpoints }
  | { readonly kind: 'create' | 'update'; readonly what: 'slice'; readonly object: EndpointSlice };

export interface ObservedEndpoints {
  readonly endpoints: Endpoints | undefined;
  readonly slice: EndpointSlice | undefined;
}

/** Endpoints and EndpointSlice of `default/kubernetes` list exactly these addresses. Nothing is done when none is known. */
export function planApiEndpoints(
  { endpoints, slice }: ObservedEndpoints,
  addresses: readonly string[],
  port: number,
): readonly Action[] {
  if (addresses.length === 0) return [];
  const sorted = [...new Set(addresses)].sort();
  const ports = [{ name: PORT_NAME, port, protocol: 'TCP' }];
  const subsets = [{ addresses: sorted.map((ip) => ({ ip })), ports }];
  const listed = sorted.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  const actions: Action[] = [];
  if (endpoints === undefined) {
    // Mirroring would make a second slice of them.
    const metadata = { ...KUBERNETES, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } };
    actions.push({
      kind: 'create',
      what: 'endpoints',
      object: { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets },
    });
  } else if (!equalJson(endpoints.subsets, subsets)) {
    actions.push({ kind: 'update', what: 'endpoints', object: { ...endpoints, subsets } });
  }
  if (slice === undefined) {
    const metadata = { ...KUBERNETES, labels: { 'kubernetes.io/service-name': KUBERNETES.name } };
    const identity = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' } as const;
    const object: EndpointSlice = { ...identity, metadata, addressType: 'IPv4', endpoints: listed, ports };
    actions.push({ kind: 'create', what: 'slice', object });
  } else if (!equalJson(slice.endpoints, listed) || !equalJson(slice.ports, ports)) {
    actions.push({ kind: 'update', what: 'slice', object: { ...slice, endpoints: listed, ports } });
  }
  return actions;
}
