import { type Clock, errorMessage, type Instant, pause } from '@gantry/base';
import {
  DRAINING_ANNOTATION,
  type Eviction,
  isReason,
  type KubeObject,
  type Node,
  NODES,
  type Pod,
  PODS,
  StatusError,
} from '@gantry/objects';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';
import { numberOf } from '../identity/node-identity.ts';
import { cleanupWorkers, PodManager } from '../pods/pod-manager.ts';
import type { EndServices } from '../pods/worker-services.ts';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import type { PodSource } from '../sources/pod-source.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { EngineNodes } from './engine-nodes.ts';
import { NodeRemover, versionOf } from './node-remover.ts';
import { type CleanedPods, type CustodianAction, DEAD_MS, type ObservedNode, planCustodian } from './plan.ts';

const INTERVAL_MS = 2_000;
/** The interval of observations while another agent leads: it is found dead by these. */
const FOLLOW_MS = 1_000;
/** The interval while a heartbeat is late, so that a dead agent is noticed soon. */
const LATE_INTERVAL_MS = 500;
/** A heartbeat of this age is late. */
const LATE_MS = INTERVAL_MS - LATE_INTERVAL_MS;
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
  readonly #engine: EngineNodes;
  readonly #remover: NodeRemover;
  readonly #missing = new Map<string, Instant>();
  readonly #cleanups = new Map<string, Cleanup>();
  #withoutObject: readonly string[] = [];
  #leading: 'yes' | 'no' = 'no';

  constructor(options: CustodianOptions) {
    this.#options = options;
    this.#engine = new EngineNodes(options);
    this.#remover = new NodeRemover(options);
  }

  async lead(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    this.#leading = 'yes';
    this.#missing.clear();
    this.#remover.forget();
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
    await Promise.all([...[...this.#cleanups.values()].map(({ done }) => done), this.#remover.ended()]);
  }

  /** See `EngineNodes`. */
  isSilent(node: string, signal: AbortSignal): Promise<boolean> {
    return this.#engine.isSilent(node, signal);
  }

  /** Observes heartbeats also while another agent leads, so that the next custodian knows at once which agents are dead. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#leading === 'no') await this.#engine.readHeartbeats(this.#withoutObject, signal);
      } catch (error) {
        if (!signal.aborted) logger.debug({ reason: errorMessage(error) }, 'host custodian: cannot read heartbeats');
      }
      await pause(clock, FOLLOW_MS, signal);
    }
  }

  async #ownersOfContainers(signal: AbortSignal): Promise<readonly string[]> {
    const { runtime, cluster } = this.#options;
    const pods = await runtime.observer.listPods({ cluster }, signal);
    return [...new Set(pods.map((pod) => pod.owner.node))];
  }

  /** The nodes as input of the plan; none while all are heard, since then nothing is planned. */
  async #observe(nowMs: Instant, signal: AbortSignal): Promise<readonly ObservedNode[]> {
    const { agents, compose } = this.#options;
    await this.#engine.readHeartbeats(this.#withoutObject, signal);
    if ([...this.#engine.heartbeats.values()].every(({ atMs }) => nowMs - atMs < LATE_MS)) {
      this.#missing.clear();
      return [];
    }
    const [numbers] = await Promise.all([
      compose === undefined ? undefined : agents.listNumbers(compose.project, compose.service, signal),
      this.#engine.readNodes(signal),
    ]);
    return Promise.all(
      [...this.#engine.heartbeats.keys()].map((name) =>
        this.#observeNode(name, this.#engine.nodes.get(name), { numbers, nowMs }, signal),
      ),
    );
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
    const heartbeatMs = this.#engine.heartbeats.get(name)?.atMs ?? nowMs;
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
              metadata: {
                annotations: { [DRAINING_ANNOTATION]: 'true' },
                ...versionOf(this.#engine.nodes.get(action.node)),
              },
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
    const seen = this.#engine.heartbeats.get(node)?.renewTime;
    const isSilent = (step: AbortSignal) => this.#engine.isUnchanged(node, seen, step);
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

  async #removeNode(name: string, signal: AbortSignal): Promise<void> {
    const cleanups = [...this.#cleanups.values()].filter(({ node }) => node === name).map(({ done }) => done);
    const lease = this.#engine.heartbeats.get(name)?.lease;
    const object = this.#engine.nodes.get(name);
    const node = { name, lease, object, cleanups: Promise.all(cleanups) };
    if ((await this.#remover.remove(node, signal)) === 'removed') this.#missing.delete(name);
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
