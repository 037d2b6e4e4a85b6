import type { InformerEvent } from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  equalJson,
  formatKey,
  keyOf,
  type KubeObject,
  type Node,
  NODES,
  type Pod,
  PODS,
  type Service,
  SERVICE_NAME_LABEL,
  SERVICES,
  TRIGGER_TIME_ANNOTATION,
} from '@gantry/objects';
import { HostPortView } from './host-port-view.ts';
import { planHostRules } from './hosts/other-hosts.ts';
import { type HostsPlan, type HostSurroundings, planHosts } from './hosts/plan-hosts.ts';
import { type HealthCheck, planHealthCheck } from './rules/health-checks.ts';
import { loadBalancerAddresses, nodeAddresses, planLoadBalancerAddresses } from './rules/host-addresses.ts';
import { dependsOnOrigin, planService } from './rules/plan-service.ts';
import { nodesOfHost, planNodeAddresses, planPodsOf } from './rules/pods-of-nodes.ts';
import type { RuleBook } from './rules/rule-book.ts';
import { changedTargets, flowTargets, type FlowTargets } from './rules/stale-flows.ts';
import type { Topology } from './rules/topology.ts';

/** The resources in the proxy's caches. */
export const PROXIED_RESOURCES = [SERVICES, ENDPOINT_SLICES, NODES, PODS];

/** The result of an update of the rule book, apart from the rules. */
export interface Update {
  /** Service addresses whose clients may have connections to endpoints that are gone. */
  readonly flows: FlowTargets;
  /** The times (Unix milliseconds) of the pod changes whose rules are in the book now. */
  readonly triggeredAt: readonly number[];
  /** Set only if it has changed. */
  readonly host?: HostState;
}

/** The wanted state of the host, apart from the rules. */
export interface HostState {
  /** The addresses of Nodes and load balancers. */
  readonly addresses: ReadonlySet<string>;
  readonly healthChecks: readonly HealthCheck[];
  /** The other hosts of the cluster. */
  readonly others: HostsPlan;
}

const NO_HOSTS: HostsPlan = { hosts: [], refused: [] };

/** Keeps the rule book up to date with the caches. `take` only notes changes. `update` plans each changed Service once. */
export class ClusterView {
  readonly #book: RuleBook;
  #topology: Topology;
  readonly #services = new Map<string, Service>();
  /** By Service, then by the slice's own key. */
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #nodes = new Map<string, Node>();
  /** By Node, then by the pod's own key. */
  readonly #pods = new Map<string, Map<string, Pod>>();
  /** The Services whose rules refer to the Nodes of pods. The sets of pods per Node are in the table only while there are such Services. */
  readonly #byOrigin = new Set<string>();
  readonly #flows = new Map<string, FlowTargets>();
  readonly #changedServices = new Set<string>();
  readonly #changedPods = new Set<string>();
  readonly #triggeredAt = new Set<number>();
  readonly #hostPorts: HostPortView;
  /** Addresses of load balancers, by Service. */
  readonly #loadBalancers = new Map<string, readonly string[]>();
  readonly #healthChecks = new Map<string, HealthCheck>();
  #isHostChanged = true;
  #areNodesChanged = false;
  /** Undefined on a host that reaches no other hosts. */
  readonly #surroundings: HostSurroundings | undefined;
  #others = NO_HOSTS;

  constructor(book: RuleBook, topology: Omit<Topology, 'nodes'>, surroundings: HostSurroundings | undefined) {
    this.#book = book;
    this.#surroundings = surroundings;
    this.#hostPorts = new HostPortView(book);
    this.#topology = { ...topology, nodes: new Map() };
  }

  /** Takes the events of the caches, in order. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    for (const { object, old } of event.changes) {
      switch (event.resource.resource) {
        case SERVICES.resource:
          this.#changedServices.add(replaceIn(this.#services, object, old));
          break;
        case ENDPOINT_SLICES.resource:
          this.#takeSlice(object as EndpointSlice | undefined, old as EndpointSlice | undefined);
          break;
        case NODES.resource:
          replaceIn(this.#nodes, object, old);
          this.#areNodesChanged = true;
          break;
        case PODS.resource:
          this.#takePod(object, old);
          this.#hostPorts.take(object, old);
          break;
      }
    }
  }

  /** Plans what has changed since the last call. */
  update(): Update {
    if (this.#areNodesChanged) this.#updateNodes();
    const flows = new Map<string, ReadonlySet<string>>();
    const hadOrigins = this.#byOrigin.size > 0;
    for (const key of this.#changedServices) this.#updateService(key, flows);
    this.#changedServices.clear();
    if (hadOrigins !== this.#byOrigin.size > 0)
      for (const name of this.#topology.nodes.keys()) this.#changedPods.add(name);
    for (const name of this.#changedPods) this.#updatePods(name);
    this.#changedPods.clear();
    this.#hostPorts.update(this.#topology, flows);
    const triggeredAt = [...this.#triggeredAt];
    this.#triggeredAt.clear();
    if (!this.#isHostChanged) return { flows, triggeredAt };
    this.#isHostChanged = false;
    const ofNodes = nodeAddresses(this.#topology.nodes, this.#topology.podCidr);
    const addresses = new Set([...ofNodes, ...[...this.#loadBalancers.values()].flat()]);
    const host = { addresses, healthChecks: [...this.#healthChecks.values()], others: this.#others };
    return { flows, triggeredAt, host };
  }

  #takeSlice(object: EndpointSlice | undefined, old: EndpointSlice | undefined): void {
    for (const slice of [old, object]) {
      const service = slice?.metadata.labels?.[SERVICE_NAME_LABEL];
      if (slice === undefined || service === undefined || service === '') continue;
      const key = formatKey({ namespace: slice.metadata.namespace ?? '', name: service });
      const slices = this.#slices.get(key) ?? new Map<string, EndpointSlice>();
      if (slice === object) slices.set(formatKey(keyOf(slice)), slice);
      else slices.delete(formatKey(keyOf(slice)));
      if (slices.size === 0) this.#slices.delete(key);
      else this.#slices.set(key, slices);
      this.#changedServices.add(key);
    }
    const trigger = object?.metadata.annotations?.[TRIGGER_TIME_ANNOTATION];
    if (trigger === undefined || trigger === old?.metadata.annotations?.[TRIGGER_TIME_ANNOTATION]) return;
    const at = Date.parse(trigger);
    if (!Number.isNaN(at)) this.#triggeredAt.add(at);
  }

  #takePod(object: Pod | undefined, old: Pod | undefined): void {
    for (const pod of [old, object]) {
      const node = pod?.spec?.nodeName ?? '';
      if (pod === undefined || node === '') continue;
      const pods = this.#pods.get(node) ?? new Map<string, Pod>();
      if (pod === object) pods.set(formatKey(keyOf(pod)), pod);
      else pods.delete(formatKey(keyOf(pod)));
      if (pods.size === 0) this.#pods.delete(node);
      else this.#pods.set(node, pods);
      this.#changedPods.add(node);
    }
  }

  #updateNodes(): void {
    this.#areNodesChanged = false;
    this.#updateOthers();
    const before = this.#topology.nodes;
    const reach = this.#surroundings === undefined ? 'own-pods' : 'other-hosts';
    const nodes = nodesOfHost([...this.#nodes.values()], this.#topology.podRange, reach);
    if (JSON.stringify([...before]) === JSON.stringify([...nodes])) return;
    this.#topology = { ...this.#topology, nodes };
    this.#book.put('nodes', planNodeAddresses(nodes, this.#topology.podCidr));
    for (const name of [...before.keys(), ...nodes.keys()]) this.#changedPods.add(name);
    this.#hostPorts.takeNodes();
    this.#isHostChanged = true;
    // Hints, traffic policies and source ranges depend on Nodes.
    for (const key of this.#services.keys()) this.#changedServices.add(key);
  }

  #updateOthers(): void {
    if (this.#surroundings === undefined) return;
    const others = planHosts([...this.#nodes.values()], this.#surroundings);
    if (JSON.stringify(others) === JSON.stringify(this.#others)) return;
    this.#others = others;
    this.#book.put('hosts', planHostRules(others.hosts));
    this.#isHostChanged = true;
  }

  #updateService(key: string, flows: Map<string, ReadonlySet<string>>): void {
    const service = this.#services.get(key);
    const slices = [...(this.#slices.get(key)?.values() ?? [])];
    if (service !== undefined && dependsOnOrigin(service, slices)) this.#byOrigin.add(key);
    else this.#byOrigin.delete(key);
    if (service === undefined) this.#book.remove(`service/${key}`);
    else this.#book.put(`service/${key}`, planService(service, slices, this.#topology));
    this.#updateLoadBalancer(key, service, slices);
    const targets: FlowTargets = service === undefined ? new Map() : flowTargets(service, slices, this.#topology);
    for (const [address, endpoints] of changedTargets(this.#flows.get(key), targets)) flows.set(address, endpoints);
    if (targets.size === 0) this.#flows.delete(key);
    else this.#flows.set(key, targets);
  }

  #updateLoadBalancer(key: string, service: Service | undefined, slices: readonly EndpointSlice[]): void {
    const check = service === undefined ? undefined : planHealthCheck(service, slices, this.#topology);
    if (!equalJson(this.#healthChecks.get(key), check)) this.#isHostChanged = true;
    if (check === undefined) this.#healthChecks.delete(key);
    else this.#healthChecks.set(key, check);
    const addresses = service === undefined ? [] : loadBalancerAddresses(service, this.#topology.podCidr);
    if ((this.#loadBalancers.get(key) ?? []).join() === addresses.join()) return;
    this.#isHostChanged = true;
    if (addresses.length === 0) this.#loadBalancers.delete(key);
    else this.#loadBalancers.set(key, addresses);
    this.#book.put(`load-balancer/${key}`, planLoadBalancerAddresses(addresses));
  }

  #updatePods(name: string): void {
    const node = this.#topology.nodes.get(name);
    if (node === undefined || this.#byOrigin.size === 0) {
      this.#book.remove(`pods/${name}`);
      return;
    }
    const pods = [...(this.#pods.get(name)?.values() ?? [])];
    this.#book.put(`pods/${name}`, planPodsOf(node, pods, this.#topology.podRange));
  }
}

/** Applies a change to a map by key. Returns the key. */
function replaceIn<T extends KubeObject>(objects: Map<string, T>, object: T | undefined, old: T | undefined): string {
  const subject = object ?? old;
  if (subject === undefined) return '';
  const key = formatKey(keyOf(subject));
  if (object === undefined) objects.delete(key);
  else objects.set(key, object);
  return key;
}
