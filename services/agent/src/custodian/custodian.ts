import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, type Instant, pause } from '@gantry/base';
import { isReason, type KubeObject, type Lease, type Node, type Pod } from '@gantry/api';
import type { ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';
import { numberOf } from '../identity/node-identity.ts';
import { LEASES } from '../node/heartbeat.ts';
import { NODES } from '../node/node-keeper.ts';
import { DRAINING_ANNOTATION, ENGINE_LABEL } from '../node/node-object.ts';
import { PodManager } from '../pods/pod-manager.ts';
import { PODS } from '../pods/pod-source.ts';
import type { WorkerServices } from '../pods/worker-services.ts';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type CustodianAction, type ObservedNode, planCustodian } from './plan.ts';

const INTERVAL_MS = 2_000;
/** Containers of nodes that have no object any more are looked for in every so many rounds. */
const FORGOTTEN_ROUNDS = 5;

export interface CustodianOptions {
  readonly client: ObjectClient;
  readonly runtime: Runtime;
  readonly agents: AgentContainers;
  readonly compose: SelfContainer['compose'];
  readonly cluster: string;
  /** This agent's own node, which the custodian never touches. */
  readonly node: string;
  readonly engineName: string;
  readonly hostName: string;
  readonly statePath: string;
  /** Services for the pods of another node of this host, with the mandate to tidy. */
  readonly servicesFor: (node: string, object: 'present' | 'absent') => WorkerServices;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Tidying {
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/**
 * Acts for the dead agents of this host and removes Nodes that were scaled away. One living agent per engine leads at a
 * time; everything here is idempotent, so that a change of leaders in the middle harms nothing.
 */
export class Custodian {
  readonly #options: CustodianOptions;
  readonly #heartbeats = new Map<string, { lease: Lease; atMs: Instant }>();
  /** The Nodes as they were when the round's actions were decided on. */
  #nodes: ReadonlyMap<string, Node> = new Map();
  readonly #missing = new Map<string, Instant>();
  readonly #tidying = new Map<string, Tidying>();
  #forgotten: readonly string[] = [];

  constructor(options: CustodianOptions) {
    this.#options = options;
  }

  async lead(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    this.#heartbeats.clear();
    this.#missing.clear();
    for (let round = 0; !signal.aborted; round++) {
      try {
        if (round % FORGOTTEN_ROUNDS === 0) this.#forgotten = await this.#ownersOfContainers(signal);
        const observed = await this.#observe(signal);
        const actions = planCustodian(observed, clock.monotonicMs());
        await this.#stopTidying(actions);
        for (const action of actions) await this.#act(action, signal);
      } catch (error) {
        const reason = errorMessage(error);
        // Written meanwhile, perhaps by an agent that is back: the next round looks anew.
        if (isReason(error, 'Conflict')) logger.debug({ reason }, 'host custodian: a round met a conflict');
        else if (!signal.aborted) logger.warn({ reason }, 'host custodian: a round failed');
      }
      await pause(clock, INTERVAL_MS, signal);
    }
    await this.#stopTidying([]);
  }

  async #ownersOfContainers(signal: AbortSignal): Promise<readonly string[]> {
    const { runtime, cluster } = this.#options;
    const pods = await runtime.observer.listPods({ cluster }, signal);
    return [...new Set(pods.map((pod) => pod.owner.node))];
  }

  async #observe(signal: AbortSignal): Promise<readonly ObservedNode[]> {
    const { client, agents, compose, engineName, node: own } = this.#options;
    const [nodes, leases, numbers] = await Promise.all([
      client.list<Node>(NODES, { labelSelector: `${ENGINE_LABEL}=${engineName}` }, signal),
      client.list<Lease>(LEASES, { namespace: 'kube-node-lease' }, signal),
      compose === undefined ? undefined : agents.listNumbers(compose.project, compose.service, signal),
    ]);
    this.#noteHeartbeats(leases.items);
    const objects = new Map(nodes.items.map((node) => [node.metadata.name ?? '', node]));
    this.#nodes = objects;
    const names = new Set([...objects.keys(), ...this.#forgotten]);
    names.delete(own);
    return Promise.all([...names].map((name) => this.#observeNode(name, objects.get(name), numbers, signal)));
  }

  /** A heartbeat counts from the moment its change is seen: clocks of other processes are not trusted. */
  #noteHeartbeats(leases: readonly Lease[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    const names = new Set(leases.map((lease) => lease.metadata.name ?? ''));
    for (const name of this.#heartbeats.keys()) if (!names.has(name)) this.#heartbeats.delete(name);
    for (const lease of leases) {
      const name = lease.metadata.name ?? '';
      const known = this.#heartbeats.get(name);
      const isSame = known !== undefined && known.lease.spec?.renewTime === lease.spec?.renewTime;
      this.#heartbeats.set(name, { lease, atMs: isSame ? known.atMs : nowMs });
    }
  }

  async #observeNode(
    name: string,
    object: Node | undefined,
    numbers: ReadonlyMap<number, 'running' | 'stopped'> | undefined,
    signal: AbortSignal,
  ): Promise<ObservedNode> {
    const { client, runtime, cluster, hostName, clock } = this.#options;
    const number = numberOf(name, hostName);
    const container = numbers === undefined || number === undefined ? 'unknown' : (numbers.get(number) ?? 'missing');
    if (container !== 'missing') this.#missing.delete(name);
    else if (!this.#missing.has(name)) this.#missing.set(name, clock.monotonicMs());
    // Only what may be removed altogether is looked at more closely.
    const closely = container === 'missing' || object === undefined;
    const [pods, states] = await Promise.all([
      closely && object !== undefined
        ? client.list<Pod>(PODS, { fieldSelector: `spec.nodeName=${name}` }, signal)
        : undefined,
      closely ? runtime.observer.listPods({ cluster, node: name }, signal) : [],
    ]);
    const bound = pods?.items ?? [];
    return {
      name,
      object: object === undefined ? 'absent' : 'present',
      schedulable: object?.spec?.unschedulable === true ? 'no' : 'yes',
      container,
      missingSinceMs: this.#missing.get(name),
      heartbeatMs: this.#heartbeats.get(name)?.atMs,
      livingPods: bound.filter((pod) => pod.metadata.deletionTimestamp === undefined).map(identity),
      podCount: bound.length,
      containerCount: states.length,
    };
  }

  async #stopTidying(actions: readonly CustodianAction[]): Promise<void> {
    const wanted = new Set(actions.flatMap((action) => (action.kind === 'tidy' ? [action.node] : [])));
    for (const [node, { abort, done }] of this.#tidying) {
      if (wanted.has(node)) continue;
      abort.abort();
      await done;
      this.#tidying.delete(node);
    }
  }

  async #act(action: CustodianAction, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    switch (action.kind) {
      case 'tidy':
        this.#tidy(action.node, action.object, signal);
        return;
      case 'cordon':
        logger.info({ node: action.node }, 'host custodian: node was scaled away, draining it');
        await client.write(
          {
            verb: 'patch',
            resource: NODES,
            key: { namespace: '', name: action.node },
            patch: {
              metadata: { annotations: { [DRAINING_ANNOTATION]: 'true' }, ...versionOf(this.#nodes.get(action.node)) },
              spec: { unschedulable: true },
            },
            patchType: 'application/merge-patch+json',
          },
          signal,
        );
        return;
      case 'deletePod': {
        const { namespace, name, uid } = action;
        const options = { preconditions: { uid } };
        await unlessGone(() =>
          client.write({ verb: 'delete', resource: PODS, key: { namespace, name }, options }, signal),
        );
        return;
      }
      case 'removeNode':
        await this.#removeNode(action.node, signal);
        return;
    }
  }

  #tidy(node: string, object: 'present' | 'absent', signal: AbortSignal): void {
    if (this.#tidying.has(node)) return;
    const { logger, servicesFor } = this.#options;
    logger.info({ node }, 'host custodian: acting for an agent that does not answer');
    const abort = new AbortController();
    const both = AbortSignal.any([signal, abort.signal]);
    const services = servicesFor(node, object);
    const done = Promise.all([
      services.pods.run(both),
      services.gate.run(both),
      new PodManager(services).run(both),
    ]).then(
      () => undefined,
      (error: unknown) => logger.warn({ node, reason: errorMessage(error) }, 'host custodian: tidying ended'),
    );
    this.#tidying.set(node, { abort, done });
  }

  /**
   * The Lease goes first: with the Node gone nobody on this host may touch it. Both only as they were when the Node was found
   * to be left: an agent that is back renews the one or writes the other, and the removal ends in a Conflict.
   */
  async #removeNode(node: string, signal: AbortSignal): Promise<void> {
    const { client, statePath, logger } = this.#options;
    const objects = [
      { resource: LEASES, namespace: 'kube-node-lease', seen: this.#heartbeats.get(node)?.lease },
      { resource: NODES, namespace: '', seen: this.#nodes.get(node) },
    ];
    for (const { resource, namespace, seen } of objects) {
      if (seen === undefined) continue;
      const options = { preconditions: versionOf(seen) };
      await unlessNotFound(() =>
        client.write({ verb: 'delete', resource, key: { namespace, name: node }, options }, signal),
      );
    }
    await rm(join(statePath, 'nodes', node), { recursive: true, force: true });
    this.#missing.delete(node);
    logger.info({ node }, 'host custodian: node removed');
  }
}

function identity(pod: Pod): { namespace: string; name: string; uid: string } {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  return { namespace, name, uid };
}

/** What a write is conditional on that follows from this object. */
function versionOf(object: KubeObject | undefined): { readonly uid?: string; readonly resourceVersion?: string } {
  const { uid, resourceVersion } = object?.metadata ?? {};
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

async function unlessNotFound(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}

/** For writes about one uid: a Conflict says that the name is another's by now. */
async function unlessGone(write: () => Promise<unknown>): Promise<void> {
  try {
    await unlessNotFound(write);
  } catch (error) {
    if (!isReason(error, 'Conflict')) throw error;
  }
}
