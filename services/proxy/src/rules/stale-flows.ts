import type { EndpointSlice, Service } from '@gantry/objects';
import { endpointsOf } from './endpoints.ts';
import { routedPorts } from './service-port.ts';
import type { Topology } from './topology.ts';

/** The addresses that may answer, by `<protocol> <address>:<port>` for a Service's address, and by `<protocol> :<port>` for a NodePort. */
export type FlowTargets = ReadonlyMap<string, ReadonlySet<string>>;

/** The protocols whose connections can outlive their endpoint in the kernel. */
export type FlowProtocol = 'udp' | 'tcp';

/** Connections in conntrack with the same Service address and the same answering address. */
export interface StaleFlows {
  readonly protocol: FlowProtocol;
  readonly destination: string;
  readonly port: string;
  readonly answeredBy: string;
  readonly count: number;
}

const FLOW = /^(udp|tcp)\s+\d+ \d+ (?:CLOSE )?src=\S+ dst=(\S+) sport=\d+ dport=(\d+).*? src=(\S+) dst=/;

/** Returns the addresses of a Service with the endpoints that serve them. */
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
 * Returns the targets whose clients may have stale flows. For UDP these are all changed targets, because a flow may have begun before
 * there was an endpoint. For TCP these are the targets that have lost an endpoint.
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
 * Finds the flows of Services' clients in conntrack's listing that no endpoint of the Service answers. Either the endpoint is gone, or
 * the flow began before the Service had an endpoint. UDP flows have no end: a client that keeps sending would stay with the dead
 * endpoint. The kernel remembers a TCP connection for ten seconds after its server has reset it. A new connection from the same client
 * port would go to the same endpoint.
 */
export function staleFlows(listing: string, targets: FlowTargets): readonly StaleFlows[] {
  const found = new Map<string, StaleFlows>();
  for (const line of listing.split('\n')) {
    const [, name, destination = '', port = '', answeredBy = ''] = FLOW.exec(line) ?? [];
    const protocol = name === 'tcp' ? 'tcp' : 'udp';
    // If the destination itself answers, the flow was not translated. Its port only happens to equal a NodePort.
    const ofNodePort = answeredBy === destination ? undefined : targets.get(`${protocol} :${port}`);
    const endpoints = targets.get(`${protocol} ${destination}:${port}`) ?? ofNodePort;
    if (endpoints === undefined || endpoints.has(answeredBy)) continue;
    const key = `${protocol} ${destination} ${port} ${answeredBy}`;
    found.set(key, { protocol, destination, port, answeredBy, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

/** The prefix of the sets of clients with session affinity. */
export const CLIENTS = 'clients-';

/** The clients of each set in nft's language, with the time until they are forgotten. */
type KeptClients = ReadonlyMap<string, readonly string[]>;

const CLIENT = /(\d+\.\d+\.\d+\.\d+) (?:timeout \S+ )?expires ([0-9a-z]+)/g;
/** The maximum number of elements in one command, as in a transaction's other commands. */
const CLIENTS_PER_COMMAND = 500;

/** Reads the clients with session affinity of one table from the output of `nft list sets`, which lists all tables. */
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

/** Returns commands that give the new table's sets their clients back. Sets that the new table lacks are omitted. */
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
