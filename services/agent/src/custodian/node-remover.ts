import { join } from 'node:path';
import { errorMessage } from '@gantry/base';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import { type KubeObject, type Lease, LEASES, type Node, NODES } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { readKeyVolume } from '../identity/self.ts';
import { LEASE_NAMESPACE } from '../node/heartbeat.ts';
import type { AgentContainers } from '../runtime/agent-containers.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';

interface NodeRemoverOptions {
  readonly client: ObjectClient;
  readonly events: EventRecorder;
  readonly runtime: Pick<Runtime, 'podGroups'>;
  readonly agents: AgentContainers;
  readonly cluster: string;
  readonly statePath: string;
  readonly mounts: HostMounts;
  readonly logger: Logger;
}

/** What was observed of a node that is removed. */
interface RemovedNode {
  readonly name: string;
  readonly lease: Lease | undefined;
  readonly object: Node | undefined;
  /** Its cleanups, which may still run. */
  readonly cleanups: Promise<unknown>;
}

/** Removes nodes of this host that have no agent any more: their objects, control groups, keys and folders. */
export class NodeRemover {
  readonly #options: NodeRemoverOptions;
  /** Nodes whose removal found control groups that were still in use. */
  readonly #occupied = new Map<string, 'seen' | 'said'>();
  /** Running removals of nodes' folders. An unreachable NFS server can block one for minutes, so they run in the background. */
  readonly #removals = new Map<string, Promise<void>>();

  constructor(options: NodeRemoverOptions) {
    this.#options = options;
  }

  /** At the beginning of a term: what the last one has seen may be over. */
  forget(): void {
    this.#occupied.clear();
  }

  /** Resolves when the removals of folders have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#removals.values());
  }

  /**
   * Deletes the Lease before the Node: this host may not delete the Lease of a node without a Node object. Both deletions are conditional
   * on the observed version. If the agent has come back and written one of them, the deletion fails with a Conflict. Returns `stays` for a
   * node that the next round removes.
   */
  async remove({ name, lease, object, cleanups }: RemovedNode, signal: AbortSignal): Promise<'removed' | 'stays'> {
    const { client, agents, statePath } = this.#options;
    if (this.#removals.has(name)) return 'stays';
    if ((await this.#removeGroups(name)) === 'in-use') {
      this.#noteOccupied(name);
      return 'stays';
    }
    this.#occupied.delete(name);
    const key = { namespace: LEASE_NAMESPACE, name };
    if (lease !== undefined) await ignoreNotFound(client.delete(LEASES, key, versionOf(lease), signal));
    if (object !== undefined) await this.#deleteNode(object, signal);
    const state = join(statePath, 'nodes', name);
    const keys = await readKeyVolume(state);
    if (keys !== undefined) await agents.removeUnusedVolume(keys, signal);
    const removal = this.#removeFolder(name, state, cleanups).finally(() => this.#removals.delete(name));
    this.#removals.set(name, removal);
    return 'removed';
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

  /** Deletes the observed version of a Node, with the Events of Kubernetes' cloud node lifecycle controller. */
  async #deleteNode(node: Node, signal: AbortSignal): Promise<void> {
    const { client, events } = this.#options;
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

  /** Removes a node's folder after its cleanups have ended. Never rejects. */
  async #removeFolder(node: string, folder: string, cleanups: Promise<unknown>): Promise<void> {
    const { mounts, logger } = this.#options;
    try {
      await cleanups;
      await mounts.remove(folder);
      logger.info({ node }, 'host custodian: node removed');
    } catch (error) {
      logger.warn({ node, reason: errorMessage(error) }, "host custodian: a node's folder was not removed");
    }
  }
}

/** Kubernetes' message. The cloud is the Docker host here. */
const NOT_IN_CLOUD = 'it does not exist in the cloud provider';

/** The precondition that an object has not changed since it was read. */
export function versionOf(object: KubeObject | undefined): {
  readonly uid?: string;
  readonly resourceVersion?: string;
} {
  const { uid, resourceVersion } = object?.metadata ?? {};
  return { uid, resourceVersion };
}
