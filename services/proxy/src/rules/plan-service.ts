import { must } from '@gantry/base';
import { type EndpointSlice, isWithin, parseIpv4Range, type Service } from '@gantry/objects';
import { clusterEndpoints, endpointsOf, hasUsable, HOST, localEndpoints, type RoutedEndpoint } from './endpoints.ts';
import type { Container, Element, Fragment } from './fragment.ts';
import { type RoutedPort, routedPorts } from './service-port.ts';
import { CLIENTS } from './stale-flows.ts';
import { type LocalNode, nodePart, type Topology } from './topology.ts';

/** The mark of packets that came for a NodePort or an external address. Postrouting masquerades these packets if they leave this host. */
export const FROM_OUTSIDE_MARK = '0x20000';

/**
 * With more external addresses than this, the endpoints are listed only once, in a chain, because an author of Services may use many of
 * both.
 */
const MAX_PLAIN_EXTERNAL = 8;

/** Plans the table's part for one Service. Pure: the same input gives the same fragment. */
export function planService(service: Service, slices: readonly EndpointSlice[], topology: Topology): Fragment {
  const builder = new FragmentBuilder();
  for (const port of routedPorts(service)) new PortPlan(port, slices, topology, builder).write();
  return builder.fragment();
}

/** Whether the rules of a Service depend on the Node of a packet's pod. */
export function dependsOnOrigin(service: Service, slices: readonly EndpointSlice[]): boolean {
  if (service.spec?.internalTrafficPolicy === 'Local' || service.spec?.externalTrafficPolicy === 'Local') return true;
  return slices.some(({ endpoints }) => (endpoints ?? []).some(({ hints }) => (hints ?? null) !== null));
}

class FragmentBuilder {
  readonly #elements: Element[] = [];
  readonly #chains = new Map<string, readonly string[]>();
  readonly #sets = new Map<string, string>();

  element(container: Container, key: string, value = ''): void {
    this.#elements.push({ container, key, value });
  }

  /** Adds a chain and returns its name. */
  chain(name: string, rules: readonly string[]): string {
    this.#chains.set(name, rules);
    return name;
  }

  set(name: string, definition: string): void {
    this.#sets.set(name, definition);
  }

  fragment(): Fragment {
    return { elements: this.#elements, chains: this.#chains, sets: this.#sets };
  }
}

/** The rules of one port of a Service. */
class PortPlan {
  readonly #port: RoutedPort;
  readonly #topology: Topology;
  readonly #out: FragmentBuilder;
  readonly #endpoints: readonly RoutedEndpoint[];
  readonly #nodes: readonly LocalNode[];

  constructor(port: RoutedPort, slices: readonly EndpointSlice[], topology: Topology, out: FragmentBuilder) {
    this.#port = port;
    this.#topology = topology;
    this.#out = out;
    this.#endpoints = endpointsOf(port, slices, topology);
    this.#nodes = [...topology.nodes.values()];
  }

  write(): void {
    const { clusterAddress, port, protocol, internalPolicy, externalPolicy, nodePort } = this.#port;
    this.#out.element('cluster-addresses', clusterAddress);
    const internal = `${clusterAddress} . ${protocol} . ${port}`;
    const external = this.#externalAddresses().map((address) => `${address} . ${protocol} . ${port}`);
    const nodePorts = nodePort === 0 ? [] : [`${protocol} . ${nodePort}`];
    this.#checkSources();
    if (!hasUsable(this.#endpoints)) {
      for (const key of [internal, ...external]) this.#out.element('no-endpoints', key, 'goto reject-packet');
      for (const key of nodePorts) this.#out.element('no-endpoint-node-ports', key, 'goto reject-packet');
      return;
    }
    this.#noteOwnAddresses();
    const usual = clusterEndpoints(this.#endpoints, HOST);
    if (external.length <= MAX_PLAIN_EXTERNAL && this.#isPlain(usual)) {
      this.#writePlain(usual, [internal], external, nodePorts);
      return;
    }
    const isExternal = external.length + nodePorts.length > 0;
    const cluster = internalPolicy === 'Cluster' || isExternal ? this.#clusterChain() : '';
    this.#out.element(
      'services',
      internal,
      `goto ${internalPolicy === 'Local' ? this.#internalLocalChain() : cluster}`,
    );
    // Packets that no rule has sent to an endpoint are for Nodes without an endpoint.
    if (internalPolicy === 'Local') this.#out.element('no-endpoints', internal, 'drop');
    if (!isExternal) return;
    const chain = this.#externalChain(cluster);
    for (const key of external) {
      this.#out.element('services', key, `goto ${chain}`);
      if (externalPolicy === 'Local') this.#out.element('no-endpoints', key, 'drop');
    }
    for (const key of nodePorts) {
      this.#out.element('node-ports', key, `goto ${chain}`);
      if (externalPolicy === 'Local') this.#out.element('no-endpoint-node-ports', key, 'drop');
    }
  }

  /** Whether all packets may go to any of the endpoints, whatever their origin. */
  #isPlain(usual: readonly RoutedEndpoint[]): boolean {
    const { affinitySeconds, internalPolicy, externalPolicy } = this.#port;
    if (affinitySeconds > 0 || internalPolicy === 'Local' || externalPolicy === 'Local') return false;
    return this.#nodes.every(({ name: node, zone }) =>
      isSame(clusterEndpoints(this.#endpoints, { node, zone }), usual),
    );
  }

  /**
   * Adds the endpoints to the map of all Services, under the Service's address and a number. All ports with the same number of endpoints
   * share the chain that draws the number. So ten thousand Services need no chains of their own, which load slowly.
   */
  #writePlain(
    endpoints: readonly RoutedEndpoint[],
    internal: readonly string[],
    external: readonly string[],
    nodePorts: readonly string[],
  ): void {
    const count = endpoints.length;
    const service = `ip daddr . meta l4proto . th dport . numgen random mod ${count} map @endpoints`;
    const nodePort = `meta l4proto . th dport . numgen random mod ${count} map @node-port-endpoints`;
    const mark = `meta mark set meta mark or ${FROM_OUTSIDE_MARK}`;
    const draw = (from: string) => `meta l4proto { tcp, udp, sctp } dnat ip addr . port to ${from}`;
    const ways = [
      { keys: internal, chain: `draw/${count}`, rules: [draw(service)], to: ['services', 'endpoints'] },
      { keys: external, chain: `draw-external/${count}`, rules: [mark, draw(service)], to: ['services', 'endpoints'] },
      {
        keys: nodePorts,
        chain: `draw-node-port/${count}`,
        rules: [mark, draw(nodePort)],
        to: ['node-ports', 'node-port-endpoints'],
      },
    ] as const;
    for (const { keys, chain, rules, to } of ways) {
      for (const key of keys) {
        this.#out.element(to[0], key, `goto ${this.#out.chain(chain, rules)}`);
        for (const [index, { address, port }] of endpoints.entries()) {
          this.#out.element(to[1], `${key} . ${index}`, `${address} . ${port}`);
        }
      }
    }
  }

  /**
   * Returns the Service's addresses outside of the cluster. Every author of a Service may set external addresses. So the addresses of the
   * cluster itself, on the control network, among the pods or of other Services stay with their owners.
   */
  #externalAddresses(): readonly string[] {
    const { externalAddresses, loadBalancerAddresses, clusterAddress } = this.#port;
    const { closedRanges, clusterRange, podRange, serviceCidr } = this.#topology;
    const ofCluster = [podRange, clusterRange, must(parseIpv4Range(serviceCidr), 'the range of Service addresses')];
    const external = externalAddresses.filter((address) => !ofCluster.some((range) => isWithin(range, address)));
    return [...new Set([...external, ...loadBalancerAddresses])].filter(
      (address) => address !== clusterAddress && !closedRanges.some((range) => isWithin(range, address)),
    );
  }

  /** Drops clients of load balancers outside of `loadBalancerSourceRanges`, before the destination is rewritten. */
  #checkSources(): void {
    const { id, protocol, port, sourceRanges, loadBalancerAddresses } = this.#port;
    if (sourceRanges.length === 0 || loadBalancerAddresses.length === 0) return;
    // A node whose own address is allowed may also reach the load balancer from the load balancer's address, if the node has that
    // address.
    const isNodeAllowed = sourceRanges.some((text) => {
      const range = parseIpv4Range(text);
      return range !== undefined && this.#nodes.some(({ address }) => isWithin(range, address));
    });
    const sources = [...sourceRanges, ...(isNodeAllowed ? loadBalancerAddresses : [])];
    const rules = sources.map((source) => `ip saddr ${source} return`);
    const chain = this.#out.chain(`sources/${id}`, [...rules, 'drop']);
    for (const address of loadBalancerAddresses) {
      this.#out.element('source-checked', `${address} . ${protocol} . ${port}`, `goto ${chain}`);
    }
  }

  /** A pod that reaches itself through the Service is masqueraded. Otherwise it would answer itself directly. */
  #noteOwnAddresses(): void {
    for (const address of new Set(this.#endpoints.map((endpoint) => endpoint.address))) {
      if (isWithin(this.#topology.podRange, address)) this.#out.element('own-addresses', `${address} . ${address}`);
    }
  }

  /** Sends to the endpoints of the policy Cluster. A Node for which hints choose other endpoints has its own chain. */
  #clusterChain(): string {
    const name = `cluster/${this.#port.id}`;
    const usual = clusterEndpoints(this.#endpoints, HOST);
    const special = this.#nodes.flatMap((node) => {
      const chosen = clusterEndpoints(this.#endpoints, { node: node.name, zone: node.zone });
      if (isSame(chosen, usual)) return [];
      return [`${fromPodsOf(node)} goto ${this.#send(`${name}/from/${nodePart(node)}`, chosen)}`];
    });
    return this.#send(name, usual, special);
  }

  /** Sends a Node's pods to the endpoints on their Node, and all other clients to the endpoints on this host. */
  #internalLocalChain(): string {
    const local = this.#nodes.flatMap((node) => {
      const chain = this.#localChain(node);
      return chain === undefined ? [] : [`${fromPodsOf(node)} goto ${chain}`];
    });
    const rules = [...local, `${this.#fromPods()} return`, ...this.#toThisHost()];
    return this.#out.chain(`internal/${this.#port.id}`, rules);
  }

  /**
   * The chain for packets to NodePorts and external addresses. Under the policy Local, pods that address another Node get its endpoints.
   * Other pods and the host get all endpoints, as if they came from outside and addressed any Node. All other clients get the endpoints
   * on this host.
   */
  #externalChain(cluster: string): string {
    const name = `external/${this.#port.id}`;
    const mark = `meta mark set meta mark or ${FROM_OUTSIDE_MARK}`;
    if (this.#port.externalPolicy === 'Cluster') return this.#out.chain(name, [mark, `goto ${cluster}`]);
    const otherNodes = this.#nodes.map((node) => {
      const chain = this.#localChain(node);
      const isForNode = `ip daddr ${node.address} ${this.#fromPods()} ip saddr != @pods-of/${nodePart(node)}`;
      return `${isForNode} ${chain === undefined ? 'return' : `goto ${chain}`}`;
    });
    return this.#out.chain(name, [
      ...otherNodes,
      `${this.#fromPods()} goto ${cluster}`,
      `fib saddr type local ${mark} goto ${cluster}`,
      ...this.#toThisHost(),
    ]);
  }

  /** The chain to the endpoints on one Node, or undefined if there are none. */
  #localChain(node: LocalNode): string | undefined {
    const local = localEndpoints(this.#endpoints, (name) => name === node.name);
    return local.length === 0 ? undefined : this.#send(`local/${this.#port.id}/on/${nodePart(node)}`, local);
  }

  #toThisHost(): readonly string[] {
    const local = localEndpoints(this.#endpoints, (name) => this.#topology.nodes.has(name));
    return local.length === 0 ? [] : [`goto ${this.#send(`local/${this.#port.id}`, local)}`];
  }

  #fromPods(): string {
    return `ip saddr ${this.#topology.podCidr}`;
  }

  /** Adds a chain that sends to one of the endpoints. */
  #send(name: string, endpoints: readonly RoutedEndpoint[], before: readonly string[] = []): string {
    const rules = this.#port.affinitySeconds > 0 ? this.#stickyRules(endpoints) : this.#randomRules(endpoints);
    return this.#out.chain(name, [...before, ...rules]);
  }

  #randomRules(endpoints: readonly RoutedEndpoint[]): readonly string[] {
    const [first] = endpoints;
    if (first === undefined) return [];
    if (endpoints.length === 1) return [this.#translate(first)];
    const targets = endpoints.map(({ address, port }, index) => `${index} : ${address} . ${port}`);
    const choice = `numgen random mod ${endpoints.length} map { ${targets.join(', ')} }`;
    return [`meta l4proto ${this.#port.protocol} dnat ip addr . port to ${choice}`];
  }

  /** A client in an endpoint's set goes to that endpoint. Any other client goes to a random endpoint and is remembered. */
  #stickyRules(endpoints: readonly RoutedEndpoint[]): readonly string[] {
    const { id, affinitySeconds } = this.#port;
    const chains = endpoints.map((endpoint) => {
      const place = `${id}/${endpoint.address}/${endpoint.port}`;
      // The set's name contains its timeout, because a set's timeout cannot be changed.
      const set = `${CLIENTS}${affinitySeconds}/${place}`;
      this.#out.set(set, `type ipv4_addr; flags dynamic, timeout; timeout ${affinitySeconds}s;`);
      const rules = [`update @${set} { ip saddr }`, this.#translate(endpoint)];
      return { set, chain: this.#out.chain(`endpoint/${place}`, rules) };
    });
    const known = chains.map(({ set, chain }) => `ip saddr @${set} goto ${chain}`);
    const verdicts = chains.map(({ chain }, index) => `${index} : goto ${chain}`);
    return [...known, `numgen random mod ${chains.length} vmap { ${verdicts.join(', ')} }`];
  }

  #translate({ address, port }: RoutedEndpoint): string {
    return `meta l4proto ${this.#port.protocol} dnat to ${address}:${port}`;
  }
}

function fromPodsOf(node: LocalNode): string {
  return `ip saddr @pods-of/${nodePart(node)}`;
}

function isSame(one: readonly RoutedEndpoint[], other: readonly RoutedEndpoint[]): boolean {
  return one.length === other.length && one.every((endpoint, index) => endpoint === other[index]);
}
