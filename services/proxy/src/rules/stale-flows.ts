import type { EndpointSlice, Service } from '@gantry/objects';
import { endpointsOf } from './endpoints.ts';
import { routedPorts } from './service-port.ts';
import type { Topology } from './topology.ts';

/** The addresses that may answer, by `<protocol> <address>:<port>` of a Service, and by `<protocol> :<port>` for a NodePort. */
export type FlowTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** Whose connections can outlive their endpoint in the kernel. */
export type FlowProtocol = 'udp' | 'tcp';

/** Connections that conntrack remembers, of one address of a Service and one address that answers. */
export interface StaleFlows {
  readonly protocol: FlowProtocol;
  readonly destination: string;
  readonly port: string;
  readonly answeredBy: string;
  readonly count: number;
}

const FLOW = /^(udp|tcp)\s+\d+ \d+ (?:CLOSE )?src=\S+ dst=(\S+) sport=\d+ dport=(\d+).*? src=(\S+) dst=/;

/** The addresses of a Service with the endpoints that serve. */
export function flowTargets(service: Service, slices: readonly EndpointSlice[], topology: Topology): FlowTargets {
  const targets = new Map<string, ReadonlySet<string>>();
  for (const port of routedPorts(service)) {
    const { protocol } = port;
    if (protocol === 'sctp') continue;
    const usable = endpointsOf(port, slices, topology).filter(({ state }) => state !== 'unusable');
    const addresses = new Set(usable.map(({ address }) => address));
    for (const address of [port.clusterAddress, ...port.externalAddresses, ...port.loadBalancerAddresses]) {
      targets.set(`${protocol} ${address}:${port.port}`, addresses);
    }
    if (port.nodePort !== 0) targets.set(`${protocol} :${port.nodePort}`, addresses);
  }
  return targets;
}

/**
 * Targets whose clients may have flows to look for: of UDP what has changed, since a flow may have begun before there was an endpoint; of
 * TCP what has lost an endpoint.
 */
export function changedTargets(before: FlowTargets = new Map(), after: FlowTargets): FlowTargets {
  const isChanged = ([target, endpoints]: readonly [string, ReadonlySet<string>]) => {
    const old = before.get(target);
    if (target.startsWith('udp ') && old?.size !== endpoints.size) return true;
    return old !== undefined && [...old].some((endpoint) => !endpoints.has(endpoint));
  };
  return new Map([...after].filter(isChanged));
}

/**
 * The flows, in conntrack's listing, of clients of Services that are answered by no endpoint of the Service: it is gone, or the flow began
 * before the Service had one. Packets of UDP have no end: a client that goes on sending would stay with the dead endpoint. A connection
 * of TCP that its server has reset is remembered for ten seconds, and a new one from the same port of the client would go the same way.
 */
export function staleFlows(listing: string, targets: FlowTargets): readonly StaleFlows[] {
  const found = new Map<string, StaleFlows>();
  for (const line of listing.split('\n')) {
    const [, name, destination = '', port = '', answeredBy = ''] = FLOW.exec(line) ?? [];
    const protocol = name === 'tcp' ? 'tcp' : 'udp';
    // What is answered by its own destination was not translated: it only happens to have a NodePort's number.
    const ofNodePort = answeredBy === destination ? undefined : targets.get(`${protocol} :${port}`);
    const endpoints = targets.get(`${protocol} ${destination}:${port}`) ?? ofNodePort;
    if (endpoints === undefined || endpoints.has(answeredBy)) continue;
    const key = `${protocol} ${destination} ${port} ${answeredBy}`;
    found.set(key, { protocol, destination, port, answeredBy, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

/** Sets of clients with affinity begin with it. */
export const CLIENTS = 'clients-';

/** Clients of each set, in nft's language: with the time until they are forgotten. */
type KeptClients = ReadonlyMap<string, readonly string[]>;

const CLIENT = /(\d+\.\d+\.\d+\.\d+) (?:timeout \S+ )?expires ([0-9a-z]+)/g;
/** Elements of one command, as in a transaction's other commands. */
const CLIENTS_PER_COMMAND = 500;

/** The clients with affinity of one table, in what `nft list sets` prints of all tables. */
export function readClients(listing: string, table: string): KeptClients {
  const found = new Map<string, string[]>();
  let isOurs = false;
  let clients: string[] | undefined;
  for (const line of listing.split('\n')) {
    if (line.startsWith('table ')) isOurs = line === `table ip ${table} {`;
    const [, set] = /^\tset (\S+) \{$/.exec(line) ?? [];
    if (set !== undefined) {
      clients = isOurs && set.startsWith(CLIENTS) ? [] : undefined;
      if (clients !== undefined) found.set(set, clients);
    }
    if (clients === undefined) continue;
    for (const [, address, expires] of line.matchAll(CLIENT)) clients.push(`${address} expires ${expires}`);
  }
  return found;
}

/** Commands that give the sets of a new table their clients back; sets that it does not have are left out. */
export function formatClients(table: string, clients: KeptClients, sets: ReadonlyMap<string, string>): string {
  const commands: string[] = [];
  for (const [set, elements] of clients) {
    if (!sets.has(set)) continue;
    for (let start = 0; start < elements.length; start += CLIENTS_PER_COMMAND) {
      const part = elements.slice(start, start + CLIENTS_PER_COMMAND).join(', ');
      commands.push(`add element ip ${table} ${set} { ${part} }\n`);
    }
  }
  return commands.join('');
}
