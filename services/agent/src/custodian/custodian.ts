import { join } from 'node:path';
import { type Clock, errorMessage, type Instant, pause } from '@gantry/base';
import {
  DRAINING_ANNOTATION,
  ENGINE_LABEL,
  type Eviction,
  isReason,
  type KubeObject,
  type Lease,
  LEASES,
  type Node,
  NODES,
  type Pod,
  PODS,
  StatusError,
} from '@gantry/objects';
import { ignoreNotFound, ignoreReasons, type ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';
import { numberOf } from '../identity/node-identity.ts';
import { LEASE_NAMESPACE } from '../node/heartbeat.ts';
import { cleanupWorkers, PodManager } from '../pods/pod-manager.ts';
import type { EndServices } from '../pods/worker-services.ts';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import type { PodSource } from '../sources/pod-source.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type CleanedPods, type CustodianAction, DEAD_MS, type ObservedNode, planCustodian } from './plan.ts';
import { readKeyVolume } from '../identity/self.ts';

const INTERVAL_MS = 2_000;
/** The interval of observations while another agent leads: it is found dead by these. */
const FOLLOW_MS = 1_000;
/** The interval while a heartbeat is late, so that a dead agent is noticed soon. */
const LATE_INTERVAL_MS = 500;
/** A heartbeat of this age is late. */
const LATE_MS = INTERVAL_MS - LATE_INTERVAL_MS;
/** How often the Nodes of this engine are read while all heartbeats are in time. */
const NODES_MS = 10_000;
/** Every so many rounds, the custodian looks for containers of nodes without a Node object. */
const OBJECTLESS_ROUNDS = 5;

/** This agent, its host and its clients, as the custodian needs them. */
export interface CustodianOptions {
  readonly client: ObjectClient;
  /** For the component that reports removed Nodes. */
  readonly events: EventRecorder;
  readonly runtime: Runtime;
  readonly agents: AgentContainers;
  readonly compose: SelfContainer['compose'];
  readonly cluster: string;
  /** This agent's own node. The custodian never acts on it. */
  readonly node: string;
  readonly engineName: string;
  readonly hostName: string;
  readonly statePath: string;
  readonly mounts: HostMounts;
  /** The services that end the pods of another node of this host. */
  readonly servicesFor: (node: CleanedPods) => EndServices & { readonly source: PodSource };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Input that the observations of all nodes of one round share. */
interface Round {
  /** The states of the agents' containers by number; undefined when Compose did not create the agents. */
  readonly numbers: ReadonlyMap<number, 'running' | 'stopped'> | undefined;
  readonly nowMs: Instant;
}

/** The last observed change of a node's Lease; `lease` is undefined while the Lease does not exist. */
interface Heartbeat {
  readonly lease: Lease | undefined;
  readonly renewTime: string | undefined;
  readonly atMs: Instant;
}

/** A running cleanup of one node. */
interface Cleanup {
  readonly node: string;
  readonly object: CleanedPods['object'];
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/**
 * Acts for the dead agents of this host and removes Nodes that were scaled away. One living agent per engine leads at a time. All actions
 * are idempotent, so the leader may change at any moment.
 */
export class Custodian {
  readonly #options: CustodianOptions;
  readonly #heartbeats = new Map<string, Heartbeat>();
  /** The Nodes of this engine as they were last read; those from which the actions of a round are planned. */
  #nodes: ReadonlyMap<string, Node> = new Map();
  #nodesReadMs = Number.NEGATIVE_INFINITY;
  readonly #missing = new Map<string, Instant>();
  /** Nodes whose removal found control groups that were still in use. */
  readonly #occupied = new Map<string, 'seen' | 'said'>();
  readonly #cleanups = new Map<string, Cleanup>();
  /** Running removals of nodes' folders. An unreachable NFS server can block one for minutes, so they run in the background. */
  readonly #removals = new Map<string, Promise<void>>();
  #withoutObject: readonly string[] = [];
  #leading: 'yes' | 'no' = 'no';

  constructor(options: CustodianOptions) {
    this.#options = options;
  }

  async lead(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    this.#leading = 'yes';
    this.#missing.clear();
    this.#occupied.clear();
    for (let round = 0; !signal.aborted; round++) {
      let intervalMs = INTERVAL_MS;
      try {
        if (round % OBJECTLESS_ROUNDS === 0) this.#withoutObject = await this.#ownersOfContainers(signal);
        // One time for the whole round. A later time could declare a node dead whose pods were not listed because it was alive.
        const nowMs = clock.monotonicMs();
        const observed = await this.#observe(nowMs, signal);
        if (observed.some(({ heartbeatMs }) => isLate(nowMs - heartbeatMs))) intervalMs = LATE_INTERVAL_MS;
        const actions = planCustodian(observed, nowMs);
        this.#stopCleanups(actions);
        for (const action of actions) await this.#act(action, signal);
      } catch (error) {
        const reason = errorMessage(error);
        // An object has changed since it was read, perhaps because its agent has come back. The next round reads again.
        if (isReason(error, 'Conflict')) logger.debug({ reason }, 'host custodian: a round met a conflict');
        else if (!signal.aborted) logger.warn({ reason }, 'host custodian: a round failed');
      }
      await pause(clock, intervalMs, signal);
    }
    this.#leading = 'no';
    this.#stopCleanups([]);
    await Promise.all([...[...this.#cleanups.values()].map(({ done }) => done), ...this.#removals.values()]);
  }

  /**
   * Whether another node's agent was observed to be silent for so long that it does not hold its Lease, and a linearizable read confirms it.
   */
  async isSilent(node: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#heartbeats.get(node);
    if (known === undefined || this.#options.clock.monotonicMs() - known.atMs < DEAD_MS) return false;
    return await this.#isUnchanged(node, known.renewTime, signal);
  }

  /** Observes heartbeats also while another agent leads, so that the next custodian knows at once which agents are dead. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#leading === 'no') await this.#readHeartbeats(signal);
      } catch (error) {
        if (!signal.aborted) logger.debug({ reason: errorMessage(error) }, 'host custodian: cannot read heartbeats');
      }
      await pause(clock, FOLLOW_MS, signal);
    }
  }

  /**
   * Reads the heartbeats of this engine's other nodes, by name: a list of all Leases would cost each agent as much as the cluster has nodes.
   * Nodes that only the leader knows are not forgotten in between, or they would never be dead.
   */
  async #readHeartbeats(signal: AbortSignal): Promise<void> {
    const { client, clock, node: own } = this.#options;
    if (clock.monotonicMs() - this.#nodesReadMs >= NODES_MS) await this.#readNodes(signal);
    const names = new Set([...this.#nodes.keys(), ...this.#withoutObject]);
    names.delete(own);
    const find = async (name: string) =>
      [name, await ignoreNotFound(client.get(LEASES, { namespace: LEASE_NAMESPACE, name }, signal))] as const;
    const leases = await Promise.all([...names].map(find));
    // A renewal that was sent during the read must not count from before it.
    this.#recordHeartbeats(new Map(leases), clock.monotonicMs());
  }

  async #readNodes(signal: AbortSignal): Promise<void> {
    const { client, clock, engineName } = this.#options;
    const readMs = clock.monotonicMs();
    const { items } = await client.list(NODES, { labelSelector: `${ENGINE_LABEL}=${engineName}` }, signal);
    this.#nodes = new Map(items.map((node) => [node.metadata.name ?? '', node]));
    this.#nodesReadMs = readMs;
  }

  async #ownersOfContainers(signal: AbortSignal): Promise<readonly string[]> {
    const { runtime, cluster } = this.#options;
    const pods = await runtime.observer.listPods({ cluster }, signal);
    return [...new Set(pods.map((pod) => pod.owner.node))];
  }

  /** The nodes as input of the plan; none while all are heard, since then nothing is planned. */
  async #observe(nowMs: Instant, signal: AbortSignal): Promise<readonly ObservedNode[]> {
    const { agents, compose } = this.#options;
    await this.#readHeartbeats(signal);
    if ([...this.#heartbeats.values()].every(({ atMs }) => nowMs - atMs < LATE_MS)) {
      this.#missing.clear();
      return [];
    }
    const [numbers] = await Promise.all([
      compose === undefined ? undefined : agents.listNumbers(compose.project, compose.service, signal),
      this.#readNodes(signal),
    ]);
    return Promise.all(
      [...this.#heartbeats.keys()].map((name) =>
        this.#observeNode(name, this.#nodes.get(name), { numbers, nowMs }, signal),
      ),
    );
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

  async #observeNode(
    name: string,
    object: Node | undefined,
    { numbers, nowMs }: Round,
    signal: AbortSignal,
  ): Promise<ObservedNode> {
    const { client, runtime, cluster, hostName, clock } = this.#options;
    const number = numberOf(name, hostName);
    const container = numbers === undefined || number === undefined ? 'unknown' : (numbers.get(number) ?? 'missing');
    if (container !== 'missing') this.#missing.delete(name);
    else if (!this.#missing.has(name)) this.#missing.set(name, clock.monotonicMs());
    const heartbeatMs = this.#heartbeats.get(name)?.atMs ?? nowMs;
    const isDead = nowMs - heartbeatMs >= DEAD_MS;
    // List pods and containers only for nodes that may be removed. A custodian may not read those of a living agent.
    const mayBeRemoved = isDead && (container === 'missing' || object === undefined);
    const [pods, states] = await Promise.all([
      mayBeRemoved && object !== undefined
        ? client.list(PODS, { fieldSelector: `spec.nodeName=${name}` }, signal)
        : undefined,
      mayBeRemoved ? runtime.observer.listPods({ cluster, node: name }, signal) : [],
    ]);
    const bound = pods?.items ?? [];
    return {
      name,
      object: object === undefined ? 'absent' : 'present',
      schedulable: object?.spec?.unschedulable === true ? 'no' : 'yes',
      container,
      missingSinceMs: this.#missing.get(name),
      heartbeatMs,
      livingPods: bound.filter((pod) => pod.metadata.deletionTimestamp === undefined).map(identity),
      podCount: bound.length,
      containerCount: states.length,
    };
  }

  /**
   * Aborts cleanups that are no longer planned. A cleanup whose Node was deleted also ends and is started again: its pods can no longer
   * be read from the API.
   */
  #stopCleanups(actions: readonly CustodianAction[]): void {
    const wanted = new Map(
      actions.flatMap((action) => (action.kind === 'cleanUp' ? [[cleanupKey(action), action.object] as const] : [])),
    );
    for (const [key, cleanup] of this.#cleanups) {
      if (wanted.get(key) === cleanup.object || cleanup.abort.signal.aborted) continue;
      cleanup.abort.abort();
      void cleanup.done.then(() => this.#cleanups.delete(key));
    }
  }

  async #act(action: CustodianAction, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    switch (action.kind) {
      case 'cleanUp':
        this.#startCleanup(action, signal);
        return;
      case 'cordon':
        logger.info({ node: action.node }, 'host custodian: node was scaled away, draining it');
        await client.patch(
          NODES,
          { namespace: '', name: action.node },
          {
            merge: {
              metadata: { annotations: { [DRAINING_ANNOTATION]: 'true' }, ...versionOf(this.#nodes.get(action.node)) },
              spec: { unschedulable: true },
            },
          },
          signal,
        );
        return;
      case 'evictPod':
        await this.#evictPod(action, signal);
        return;
      case 'deletePod': {
        const { namespace, name, uid } = action;
        // Conflict: another pod has the name by now.
        await ignoreReasons(client.delete(PODS, { namespace, name }, { uid }, signal), ['NotFound', 'Conflict']);
        return;
      }
      case 'removeNode':
        await this.#removeNode(action.node, signal);
        return;
    }
  }

  /** A refused eviction is not an error: the next round evicts the pod again, and deletes it once PATIENCE_MS has passed. */
  async #evictPod(
    { namespace, name, uid }: Extract<CustodianAction, { kind: 'evictPod' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, logger } = this.#options;
    const metadata = { namespace, name };
    const deleteOptions = { preconditions: { uid } };
    const eviction: Eviction & KubeObject = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions };
    try {
      await client.createSubresource(PODS, { namespace, name, subresource: 'eviction' }, eviction, signal);
    } catch (error) {
      // Conflict: another pod has the name by now.
      if (isReason(error, 'NotFound') || isReason(error, 'Conflict')) return;
      // With two matching budgets, the server responds with 500 and without a reason.
      if (!(error instanceof StatusError) || (error.code !== 429 && error.code !== 500)) throw error;
      logger.debug({ namespace, name, reason: errorMessage(error) }, 'host custodian: an eviction was refused');
    }
  }

  #startCleanup(cleaned: CleanedPods, signal: AbortSignal): void {
    const { node, object, pods } = cleaned;
    const key = cleanupKey(cleaned);
    if (this.#cleanups.has(key)) return;
    const { logger, servicesFor } = this.#options;
    logger.info({ node, pods }, 'host custodian: acting for an agent without heartbeats');
    const abort = new AbortController();
    const both = AbortSignal.any([signal, abort.signal]);
    const services = servicesFor(cleaned);
    const seen = this.#heartbeats.get(node)?.renewTime;
    const isSilent = (step: AbortSignal) => this.#isUnchanged(node, seen, step);
    const done = Promise.all([
      services.source.run(both),
      services.gate.run(both),
      new PodManager(services, cleanupWorkers(services, isSilent)).run(both),
    ]).then(
      () => undefined,
      (error: unknown) => logger.warn({ node, reason: errorMessage(error) }, 'host custodian: cleanup ended'),
    );
    this.#cleanups.set(key, { node, object, abort, done });
  }

  /** Whether a node's agent has not renewed its Lease since it was last seen to: a linearizable read. */
  async #isUnchanged(node: string, seen: string | undefined, signal: AbortSignal): Promise<boolean> {
    const key = { namespace: LEASE_NAMESPACE, name: node };
    const lease = await ignoreNotFound(this.#options.client.get(LEASES, key, signal));
    return lease === undefined || lease.spec?.renewTime === seen;
  }

  /**
   * Deletes the Lease before the Node: this host may not delete the Lease of a node without a Node object. Both deletions are conditional
   * on the observed version. If the agent has come back and written one of them, the deletion fails with a Conflict.
   */
  async #removeNode(node: string, signal: AbortSignal): Promise<void> {
    const { client, agents, statePath } = this.#options;
    if (this.#removals.has(node)) return;
    if ((await this.#removeGroups(node)) === 'in-use') {
      this.#noteOccupied(node);
      return;
    }
    this.#occupied.delete(node);
    const lease = this.#heartbeats.get(node)?.lease;
    const key = { namespace: LEASE_NAMESPACE, name: node };
    if (lease !== undefined) await ignoreNotFound(client.delete(LEASES, key, versionOf(lease), signal));
    const object = this.#nodes.get(node);
    if (object !== undefined) await deleteNode(object, this.#options, signal);
    const state = join(statePath, 'nodes', node);
    const keys = await readKeyVolume(state);
    if (keys !== undefined) await agents.removeUnusedVolume(keys, signal);
    this.#missing.delete(node);
    const removal = this.#removeFolder(node, state).finally(() => this.#removals.delete(node));
    this.#removals.set(node, removal);
  }

  /**
   * Removes the control groups of the node's pods. No container of the node is left, but the kernel may not have removed the last process
   * of a group yet. The Node is deleted afterwards, so that the next round or another custodian repeats this.
   */
  async #removeGroups(node: string): Promise<'removed' | 'in-use'> {
    const { runtime, cluster } = this.#options;
    const owner = { cluster, node };
    const uids = await runtime.podGroups.listPodGroups(owner);
    const removed = await Promise.all(uids.map((uid) => runtime.podGroups.removePodGroup({ owner, uid })));
    return removed.every(Boolean) ? 'removed' : 'in-use';
  }

  /** Warns once that a node cannot be removed: in the second round, to give the kernel time. */
  #noteOccupied(node: string): void {
    const before = this.#occupied.get(node);
    this.#occupied.set(node, before === undefined ? 'seen' : 'said');
    if (before !== 'seen') return;
    this.#options.logger.warn(
      { node },
      'host custodian: a node stays, since something is in control groups of its pods',
    );
  }

  /** Removes a node's folder after its cleanups have ended. Never rejects. */
  async #removeFolder(node: string, folder: string): Promise<void> {
    const { mounts, logger } = this.#options;
    try {
      const acting = [...this.#cleanups.values()].filter((cleanup) => cleanup.node === node);
      await Promise.all(acting.map(({ done }) => done));
      await mounts.remove(folder);
      logger.info({ node }, 'host custodian: node removed');
    } catch (error) {
      logger.warn({ node, reason: errorMessage(error) }, "host custodian: a node's folder was not removed");
    }
  }
}

function isLate(ageMs: number): boolean {
  return ageMs >= LATE_MS && ageMs < DEAD_MS;
}

/** Identifies a cleanup, so that a running one is not started a second time: each pod is stopped once. */
function cleanupKey({ node, pods }: CleanedPods): string {
  return `${node} ${pods}`;
}

function identity(pod: Pod): { namespace: string; name: string; uid: string } {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  return { namespace, name, uid };
}

/** Kubernetes' message. The cloud is the Docker host here. */
const NOT_IN_CLOUD = 'it does not exist in the cloud provider';

/** Deletes the observed version of a Node, with the Events of Kubernetes' cloud node lifecycle controller. */
async function deleteNode(
  node: Node,
  { client, events }: { readonly client: ObjectClient; readonly events: EventRecorder },
  signal: AbortSignal,
): Promise<void> {
  const { name = '' } = node.metadata;
  events.event(node, 'Normal', 'DeletingNode', `Deleting node ${name} because ${NOT_IN_CLOUD}`);
  try {
    await ignoreNotFound(client.delete(NODES, { namespace: '', name }, versionOf(node), signal));
  } catch (error) {
    if (!signal.aborted) {
      events.event(node, 'Warning', 'DeletingNodeFailed', `Failed deleting node ${name}: ${errorMessage(error)}`);
    }
    throw error;
  }
}

/** The precondition that an object has not changed since it was read. */
function versionOf(object: KubeObject | undefined): {
  readonly uid?: string;
  readonly resourceVersion?: string;
} {
  const { uid, resourceVersion } = object?.metadata ?? {};
  return { uid, resourceVersion };
}
