import { must } from '@gantry/base';
import {
  type Endpoint,
  type EndpointSlice,
  parseIpv4Range,
  type Service,
  type ServicePort,
  type ServiceSpec,
} from '@gantry/objects';
import type { LocalNode, Topology } from '../rules/topology.ts';
import { CLOSED_ADDRESS_RANGES } from '../rules/transaction.ts';

/** A host with the pod range 10.128.0.0/20 and the control network 10.128.240.0/24. */
export function topology(...nodes: readonly LocalNode[]): Topology {
  return {
    podCidr: '10.128.0.0/20',
    podRange: must(parseIpv4Range('10.128.0.0/20'), 'a range'),
    clusterRange: must(parseIpv4Range('10.128.0.0/16'), 'a range'),
    serviceCidr: '10.96.0.0/16',
    podBridge: 'gtp-test',
    closedRanges: [...CLOSED_ADDRESS_RANGES, must(parseIpv4Range('10.128.240.0/24'), 'a range')],
    nodes: new Map(nodes.map((node) => [node.name, node])),
  };
}

export const NODE_A: LocalNode = { name: 'node-a', address: '10.128.0.3', zone: 'east' };
export const NODE_B: LocalNode = { name: 'node-b', address: '10.128.0.4', zone: 'west' };

/** The Service default/web with the ClusterIP 10.96.0.10. Its port is 80/TCP unless given otherwise. */
export function service(spec: Partial<ServiceSpec> = {}, ingress: readonly string[] = []): Service {
  const ports: ServicePort[] = [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name: 'web' },
    spec: { type: 'ClusterIP', clusterIP: '10.96.0.10', ports, ...spec },
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  };
}

/** A slice of default/web. Its port is http at 8080/TCP unless given otherwise. */
export function slice(endpoints: readonly Endpoint[], ports: EndpointSlice['ports'] = HTTP): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [...endpoints],
    ...(ports === undefined ? {} : { ports }),
  };
}

const HTTP = [{ name: 'http', port: 8080, protocol: 'TCP' }];

/** A ready endpoint. */
export function endpoint(address: string, rest: Partial<Endpoint> = {}): Endpoint {
  return { addresses: [address], conditions: { ready: true, serving: true, terminating: false }, ...rest };
}
