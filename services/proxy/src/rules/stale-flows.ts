import type { EndpointSlice, Service } from '@gantry/objects';
import { endpointsOf } from './endpoints.ts';
import { routedPorts } from './service-port.ts';
import type { Topology } from './topology.ts';

/** The addresses that may answer, by `<address>:<port>` of a Service, and by `:<port>` for a NodePort. */
export type UdpTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** Connections that conntrack remembers, of one address of a Service and one address that answers. */
export interface StaleFlows {
  readonly destination: string;
  readonly port: string;
  readonly answeredBy: string;
  readonly count: number;
}

const FLOW = /^udp\s.*?dst=(\S+) sport=\d+ dport=(\d+).*?src=(\S+) dst=/;

/** The UDP addresses of a Service with the endpoints that serve. */
export function udpTargets(service: Service, slices: readonly EndpointSlice[], topology: Topology): UdpTargets {
  const targets = new Map<string, ReadonlySet<string>>();
  for (const port of routedPorts(service)) {
    if (port.protocol !== 'udp') continue;
    const usable = endpointsOf(port, slices, topology).filter(({ state }) => state !== 'unusable');
    const addresses = new Set(usable.map(({ address }) => address));
    for (const address of [port.clusterAddress, ...port.externalAddresses, ...port.loadBalancerAddresses]) {
      targets.set(`${address}:${port.port}`, addresses);
    }
    if (port.nodePort !== 0) targets.set(`:${port.nodePort}`, addresses);
  }
  return targets;
}

/**
 * The flows, in conntrack's listing, of UDP clients of Services that are answered by no endpoint of the Service: it is gone, or the
 * flow began before the Service had one. Packets of UDP have no end: a client that goes on sending would stay with the dead endpoint.
 */
export function staleFlows(listing: string, targets: UdpTargets): readonly StaleFlows[] {
  const found = new Map<string, StaleFlows>();
  for (const line of listing.split('\n')) {
    const [, destination = '', port = '', answeredBy = ''] = FLOW.exec(line) ?? [];
    // What is answered by its own destination was not translated: it only happens to have a NodePort's number.
    const ofNodePort = answeredBy === destination ? undefined : targets.get(`:${port}`);
    const endpoints = targets.get(`${destination}:${port}`) ?? ofNodePort;
    if (endpoints === undefined || endpoints.has(answeredBy)) continue;
    const key = `${destination} ${port} ${answeredBy}`;
    found.set(key, { destination, port, answeredBy, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}
