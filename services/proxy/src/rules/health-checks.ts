import { type EndpointSlice, isWithin, podAddresses, type Service } from '@gantry/objects';
import { endpointsOf } from './endpoints.ts';
import { routedPorts } from './service-port.ts';
import type { Topology } from './topology.ts';

/** The answer to external load balancers at a Service's `healthCheckNodePort`: whether this host has endpoints of the Service. */
export interface HealthCheck {
  readonly port: number;
  readonly namespace: string;
  readonly name: string;
  /** The number of ready pods on all Nodes of the host. */
  readonly onHost: number;
  /** The number of ready pods by the Node's address. Nodes without ready pods are missing. */
  readonly onNodes: Readonly<Record<string, number>>;
}

/** Returns the health check of a Service, or undefined if its external policy is not Local. Any host can serve such a Service. */
export function planHealthCheck(
  service: Service,
  slices: readonly EndpointSlice[],
  topology: Topology,
): HealthCheck | undefined {
  const { metadata, spec } = service;
  const port = spec?.healthCheckNodePort ?? 0;
  if (spec?.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local' || port === 0) return undefined;
  const ready = new Map<string, string>();
  for (const routed of routedPorts(service)) {
    for (const { address, node, state } of endpointsOf(routed, slices, topology)) {
      if (state === 'ready' && topology.nodes.has(node)) ready.set(address, node);
    }
  }
  const onNodes: Record<string, number> = {};
  for (const name of ready.values()) {
    const address = topology.nodes.get(name)?.address ?? '';
    onNodes[address] = (onNodes[address] ?? 0) + 1;
  }
  const { namespace = '', name = '' } = metadata;
  return { port, namespace, name, onHost: ready.size, onNodes };
}

/** Returns the same answer as kube-proxy, for a client that came to an address of the host. */
export function answerHealthCheck(
  check: HealthCheck,
  {
    address,
    podCidr,
    proxy,
  }: { readonly address: string; readonly podCidr: string; readonly proxy: 'healthy' | 'ill' },
): { readonly code: 200 | 503; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const nodes = podAddresses(podCidr)?.nodes;
  const isOfNode = nodes !== undefined && isWithin(nodes, address);
  const localEndpoints = isOfNode ? (check.onNodes[address] ?? 0) : check.onHost;
  const { namespace, name } = check;
  const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: proxy === 'healthy' };
  return {
    code: localEndpoints > 0 && proxy === 'healthy' ? 200 : 503,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
    },
    body: JSON.stringify(body, undefined, '\t'),
  };
}
