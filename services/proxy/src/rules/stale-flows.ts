import type { EndpointSlice, Service } from '@gantry/objects';
import { endpointsOf } from './endpoints.ts';
import { routedPorts } from './service-port.ts';
import type { Topology } from './topology.ts';

/** The addresses that may answer, by `<address>:<port>` of a Service, and by `:<port>` for a NodePort. */
export type UdpTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** A connection that conntrack remembers, by what the client sent. */
export interface Flow {
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: string;
  readonly destinationPort: string;
}

const FLOW = /^udp\s.*?src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+).*?src=(\S+) dst=/;

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
export function staleFlows(listing: string, targets: UdpTargets): readonly Flow[] {
  return listing.split('\n').flatMap((line) => {
    const [, source = '', destination = '', sourcePort = '', destinationPort = '', answeredBy = ''] =
      FLOW.exec(line) ?? [];
    // What is answered by its own destination was not translated: it only happens to have a NodePort's number.
    const ofNodePort = answeredBy === destination ? undefined : targets.get(`:${destinationPort}`);
    const endpoints = targets.get(`${destination}:${destinationPort}`) ?? ofNodePort;
    if (endpoints === undefined || endpoints.has(answeredBy)) return [];
    return [{ source, destination, sourcePort, destinationPort }];
  });
}
