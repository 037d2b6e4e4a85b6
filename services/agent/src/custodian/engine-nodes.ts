import type { Clock, Instant } from '@gantry/base';
import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import { ENGINE_LABEL, type Lease, LEASES, type Node, NODES } from '@gantry/objects';
import { LEASE_NAMESPACE } from '../node/heartbeat.ts';
import { DEAD_MS } from './plan.ts';

/** How often the Nodes of this engine are read while all heartbeats are in time. */
const NODES_MS = 10_000;

interface EngineNodesOptions {
  readonly client: Pick<ObjectReader, 'get' | 'list'>;
  /** This agent's own node, which is not observed. */
  readonly node: string;
  readonly engineName: string;
  readonly clock: Clock;
}

/** The last observed change of a node's Lease; `lease` is undefined while the Lease does not exist. */
interface Heartbeat {
  readonly lease: Lease | undefined;
  readonly renewTime: string | undefined;
  readonly atMs: Instant;
}

/** The other nodes of this engine as one agent observes them: their Nodes, and when their heartbeats changed last. */
export class EngineNodes {
  readonly #options: EngineNodesOptions;
  readonly #heartbeats = new Map<string, Heartbeat>();
  #nodes: ReadonlyMap<string, Node> = new Map();
  #nodesReadMs = Number.NEGATIVE_INFINITY;

  constructor(options: EngineNodesOptions) {
    this.#options = options;
  }

  get heartbeats(): ReadonlyMap<string, Heartbeat> {
    return this.#heartbeats;
  }

  /** The Nodes of this engine as they were last read. */
  get nodes(): ReadonlyMap<string, Node> {
    return this.#nodes;
  }

  /**
   * Reads the heartbeats of this engine's other nodes, by name: a list of all Leases would cost each agent as much as the cluster has nodes.
   * Those of `withoutObject`, which only the leader knows, are not forgotten in between, or they would never be dead.
   */
  async readHeartbeats(withoutObject: readonly string[], signal: AbortSignal): Promise<void> {
    const { client, clock, node: own } = this.#options;
    if (clock.monotonicMs() - this.#nodesReadMs >= NODES_MS) await this.readNodes(signal);
    const names = new Set([...this.#nodes.keys(), ...withoutObject]);
    names.delete(own);
    const find = async (name: string) =>
      [name, await ignoreNotFound(client.get(LEASES, { namespace: LEASE_NAMESPACE, name }, signal))] as const;
    const leases = await Promise.all([...names].map(find));
    // A renewal that was sent during the read must not count from before it.
    this.#recordHeartbeats(new Map(leases), clock.monotonicMs());
  }

  async readNodes(signal: AbortSignal): Promise<void> {
    const { client, clock, engineName } = this.#options;
    const readMs = clock.monotonicMs();
    const { items } = await client.list(NODES, { labelSelector: `${ENGINE_LABEL}=${engineName}` }, signal);
    this.#nodes = new Map(items.map((node) => [node.metadata.name ?? '', node]));
    this.#nodesReadMs = readMs;
  }

  /**
   * Whether a node's agent was observed to be silent for so long that it does not hold its Lease, and a linearizable read confirms it.
   */
  async isSilent(node: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#heartbeats.get(node);
    if (known === undefined || this.#options.clock.monotonicMs() - known.atMs < DEAD_MS) return false;
    return await this.isUnchanged(node, known.renewTime, signal);
  }

  /** Whether a node's agent has not renewed its Lease since it was last seen to: a linearizable read. */
  async isUnchanged(node: string, seen: string | undefined, signal: AbortSignal): Promise<boolean> {
    const key = { namespace: LEASE_NAMESPACE, name: node };
    const lease = await ignoreNotFound(this.#options.client.get(LEASES, key, signal));
    return lease === undefined || lease.spec?.renewTime === seen;
  }

  /**
   * The age of a heartbeat counts from the moment this process observes a change, since clocks of other processes are not trusted. A
   * missing Lease alone does not make a node dead at once: it may have been garbage-collected with a Node, and a living agent creates it
   * again. A heartbeat that is the same after a time without observations was not renewed meanwhile.
   */
  #recordHeartbeats(leases: ReadonlyMap<string, Lease | undefined>, readMs: Instant): void {
    for (const name of this.#heartbeats.keys()) if (!leases.has(name)) this.#heartbeats.delete(name);
    for (const [name, lease] of leases) {
      const known = this.#heartbeats.get(name);
      const renewTime = lease === undefined ? known?.renewTime : lease.spec?.renewTime;
      const isSame = known !== undefined && known.renewTime === renewTime;
      this.#heartbeats.set(name, { lease, renewTime, atMs: isSame ? known.atMs : readMs });
    }
  }
}
