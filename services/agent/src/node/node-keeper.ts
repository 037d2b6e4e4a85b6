import { type Clock, errorMessage, sleep } from '@gantry/base';
import { equalJson, isReason, type Lease, type Node, type ResourceRef } from '@gantry/api';
import type { ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';
import { AgentError } from '../agent-error.ts';
import type { EngineRuntime } from '../runtime/runtime.ts';
import {
  DRAINING_ANNOTATION,
  ENGINE_LABEL,
  newNode,
  nodeLabels,
  type NodeObservation,
  nodeStatus,
} from './node-object.ts';
import { LEASES } from './heartbeat.ts';

export const NODES: ResourceRef = { group: '', version: 'v1', resource: 'nodes' };
const CHECK_MS = 5_000;
const RETRY_MS = 500;
/** How often a Node that others write meanwhile is read and written anew at once, as Kubernetes' kubelet does. */
const ATTEMPTS = 5;
/** A Node whose Lease was renewed within this time is alive. */
const ALIVE_MS = 15_000;

export interface NodeKeeperOptions {
  readonly client: ObjectClient;
  readonly engine: EngineRuntime;
  readonly observation: Omit<NodeObservation, 'engineFailure'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps this agent's Node as it should be: registered, labelled, its status true. Writes only what differs. */
export class NodeKeeper {
  readonly #options: NodeKeeperOptions;
  #wake: (() => void) | undefined;
  #look: 'needed' | 'done' = 'done';

  constructor(options: NodeKeeperOptions) {
    this.#options = options;
  }

  /** Returns when the Node is registered as this agent's; waits while another engine's live agent has its name. */
  async register(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let reported = '';
    for (;;) {
      try {
        await this.#sync(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const reason = errorMessage(error);
        if (reason !== reported) logger.info({ reason }, 'node is not registered yet');
        reported = reason;
      }
      await sleep(clock, RETRY_MS, signal);
    }
  }

  /** Looks at the Node now and then, and at once when asked. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    let restMs = CHECK_MS;
    while (!signal.aborted) {
      await this.#rest(restMs, signal);
      if (signal.aborted) return;
      this.#look = 'done';
      try {
        await this.#sync(signal);
        restMs = CHECK_MS;
      } catch (error) {
        if (signal.aborted) return;
        logger.debug({ reason: errorMessage(error) }, 'node status was not written');
        restMs = RETRY_MS;
      }
    }
  }

  /** Others may have marked the Node as lost: look at once. */
  checkNow(): void {
    this.#look = 'needed';
    this.#wake?.();
  }

  #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#look === 'needed') return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#wake = undefined;
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#options.clock.setTimer(ms, done);
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const observation = { ...this.#options.observation, engineFailure: await this.#engineFailure(signal) };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#write(observation, signal);
        return;
      } catch (error) {
        if (attempt === ATTEMPTS || !isReason(error, 'Conflict')) throw error;
      }
    }
  }

  /** Every write is conditional on the version that it was computed from; a Conflict says that somebody was faster. */
  async #write(observation: NodeObservation, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const key = { namespace: '', name: observation.name };
    const node = await this.#get(signal);
    if (node === undefined) {
      const object = newNode(observation, clock.now());
      await client.write({ verb: 'create', resource: NODES, namespace: '', object }, signal);
      return;
    }
    const engine = node.metadata.labels?.[ENGINE_LABEL];
    if (engine !== undefined && engine !== observation.engineName && (await this.#isAlive(signal))) {
      throw new AgentError(
        'Identity',
        `node ${observation.name} belongs to a live agent of another engine (${engine})`,
      );
    }
    const patch = metadataPatch(node, nodeLabels(observation));
    const current =
      patch === undefined
        ? node
        : await client.write<Node>(
            { verb: 'patch', resource: NODES, key, patch, patchType: 'application/merge-patch+json' },
            signal,
          );
    const status = nodeStatus(observation, current.status ?? {}, clock.now());
    if (equalJson(status, current.status)) return;
    await client.write(
      { verb: 'update', resource: NODES, key, subresource: 'status', object: { ...current, status } as Node },
      signal,
    );
  }

  async #get(signal: AbortSignal): Promise<Node | undefined> {
    const { client, observation } = this.#options;
    try {
      return await client.get<Node>(NODES, { namespace: '', name: observation.name }, signal);
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #isAlive(signal: AbortSignal): Promise<boolean> {
    const { client, observation, clock } = this.#options;
    try {
      const lease = await client.get<Lease>(LEASES, { namespace: 'kube-node-lease', name: observation.name }, signal);
      return clock.now() - Date.parse(lease.spec?.renewTime ?? '') < ALIVE_MS;
    } catch (error) {
      if (isReason(error, 'NotFound')) return false;
      throw error;
    }
  }

  async #engineFailure(signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#options.engine.ping(signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return errorMessage(error);
    }
  }
}

/** What the Node lacks of its labels, and the end of a drain that this agent's return has made pointless. */
function metadataPatch(node: Node, labels: Readonly<Record<string, string>>): object | undefined {
  const missing = Object.entries(labels).filter(([name, value]) => node.metadata.labels?.[name] !== value);
  const isDraining = node.metadata.annotations?.[DRAINING_ANNOTATION] !== undefined;
  if (missing.length === 0 && !isDraining) return undefined;
  const { uid, resourceVersion } = node.metadata;
  return {
    metadata: {
      uid,
      resourceVersion,
      labels: Object.fromEntries(missing),
      ...(isDraining ? { annotations: { [DRAINING_ANNOTATION]: null } } : {}),
    },
    ...(isDraining ? { spec: { unschedulable: null } } : {}),
  };
}
