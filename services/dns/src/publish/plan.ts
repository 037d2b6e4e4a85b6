import type { Plan } from '@gantry/base';
import { type EndpointSlice, type KubeObject, SERVICE_NAME_LABEL, SLICE_MANAGER_LABEL } from '@gantry/objects';
import { DNS_SERVICE } from '../zone/cluster-zone.ts';

/** A server's view of the addresses at which the cluster's DNS is reached. */
export interface ObservedServers {
  /** The stored slice, or undefined if there is none. */
  readonly slice: EndpointSlice | undefined;
  /** The server's own address. */
  readonly own: string;
  /** Whether the server answers all questions now and will continue to do so. */
  readonly serves: boolean;
  /** The addresses of other servers that do not answer. */
  readonly silent: ReadonlySet<string>;
}

export type Action =
  | { readonly kind: 'create'; readonly slice: EndpointSlice & KubeObject }
  | { readonly kind: 'update'; readonly slice: EndpointSlice & KubeObject };

const PORTS = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  { name: 'metrics', port: 9153, protocol: 'TCP' },
];

/**
 * The slice of the cluster's DNS lists every serving server. Each server adds itself, removes itself before it stops, and removes other
 * servers that do not answer. The last address stays, because an address that may answer again is better than none.
 */
export function planServers({ slice, own, serves, silent }: ObservedServers): Plan<Action> {
  const stored = addressesOf(slice);
  const others = stored.filter((address) => address !== own);
  const answering = others.filter((address) => !silent.has(address));
  const wanted = serves ? [...answering, own].toSorted() : answering;
  if (wanted.length === 0 || wanted.join() === stored.join()) return { actions: [] };
  const { metadata } = slice ?? {};
  const written: EndpointSlice & KubeObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...metadata,
      ...DNS_SERVICE,
      labels: {
        ...metadata?.labels,
        [SERVICE_NAME_LABEL]: DNS_SERVICE.name,
        [SLICE_MANAGER_LABEL]: DNS_SERVICE.name,
      },
    },
    addressType: 'IPv4',
    endpoints: wanted.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: PORTS,
  };
  return { actions: [{ kind: slice === undefined ? 'create' : 'update', slice: written }] };
}

/** Returns the addresses in a slice. */
export function addressesOf(slice: EndpointSlice | undefined): readonly string[] {
  return (slice?.endpoints ?? []).flatMap(({ addresses }) => addresses);
}
