import type { Plan } from '@gantry/base';
import {
  type Endpoints,
  type EndpointSlice,
  type KubeObject,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
  SLICE_MANAGER_LABEL,
} from '@gantry/objects';
import { DNS_SERVICE } from '../zone/cluster-zone.ts';

/** A server's view of the addresses at which the cluster's DNS is reached. */
export interface ObservedServers {
  /** The stored slice, or undefined if there is none. */
  readonly slice: EndpointSlice | undefined;
  /** The stored Endpoints, or undefined if there are none. */
  readonly endpoints: Endpoints | undefined;
  /** The server's own address. */
  readonly own: string;
  /** Whether the server answers all questions now and will continue to do so. */
  readonly serves: boolean;
  /** The addresses of other servers that do not answer. */
  readonly silent: ReadonlySet<string>;
}

export type Action =
  | { readonly kind: 'writeSlice'; readonly write: 'create' | 'update'; readonly object: EndpointSlice & KubeObject }
  | { readonly kind: 'writeEndpoints'; readonly write: 'create' | 'update'; readonly object: Endpoints & KubeObject };

const PORTS = [
  { name: 'dns', port: 53, protocol: 'UDP' },
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  { name: 'metrics', port: 9153, protocol: 'TCP' },
];

/**
 * The slice and the Endpoints of the cluster's DNS list every serving server. Each server adds itself, removes itself before it stops, and
 * removes other servers that do not answer. The last address stays, because an address that may answer again is better than none.
 */
export function planServers({ slice, endpoints, own, serves, silent }: ObservedServers): Plan<Action> {
  const stored = addressesOf(slice);
  const others = stored.filter((address) => address !== own);
  const answering = others.filter((address) => !silent.has(address));
  const serving = serves ? [...answering, own].toSorted() : answering;
  const wanted = serving.length === 0 ? stored : serving;
  const actions: Action[] = [];
  if (wanted.join() !== stored.join()) {
    actions.push({
      kind: 'writeSlice',
      write: slice === undefined ? 'create' : 'update',
      object: sliceOf(wanted, slice),
    });
  }
  const listed = (endpoints?.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
  if (wanted.join() !== listed.join()) {
    const write = endpoints === undefined ? 'create' : 'update';
    actions.push({ kind: 'writeEndpoints', write, object: endpointsOf(wanted, endpoints) });
  }
  return { actions };
}

function sliceOf(addresses: readonly string[], stored: EndpointSlice | undefined): EndpointSlice & KubeObject {
  const { labels } = stored?.metadata ?? {};
  const own = { [SERVICE_NAME_LABEL]: DNS_SERVICE.name, [SLICE_MANAGER_LABEL]: DNS_SERVICE.name };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...stored?.metadata, ...DNS_SERVICE, labels: { ...labels, ...own } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: PORTS,
  };
}

/** For clients that read no slices. No controller makes a slice of it. */
function endpointsOf(addresses: readonly string[], stored: Endpoints | undefined): Endpoints & KubeObject {
  const { labels } = stored?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { ...stored?.metadata, ...DNS_SERVICE, labels: { ...labels, [SKIP_MIRROR_LABEL]: 'true' } },
    subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: PORTS }],
  };
}

/** Returns the addresses in a slice. */
export function addressesOf(slice: EndpointSlice | undefined): readonly string[] {
  return (slice?.endpoints ?? []).flatMap(({ addresses }) => addresses);
}
