import { type Clock, errorMessage, formatMicroTime, pause, withDeadline } from '@gantry/base';
import { isReason, type Lease, LEASES, NODES, type OwnerReference } from '@gantry/objects';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';

/** Namespace of the nodes' Leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';
const INTERVAL_MS = 1_000;
/** The time limit of one renewal: short enough for a second attempt before the node counts as lost. */
const DEADLINE_MS = 1_800;
const DURATION_INTERVALS = 4;
/** The time limit of reading the Node, so that the Lease is created in time even without it. */
const LOOK_MS = 500;
/** Attempts of one renewal when other clients write the Lease at the same time. */
const ATTEMPTS = 5;

export interface HeartbeatOptions {
  readonly client: ObjectClient;
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between renewals in milliseconds; 1000 when absent. */
  readonly intervalMs?: number;
  /** The last known uid of this agent's Node; undefined before it is known. */
  readonly nodeUid: () => string | undefined;
  /** Called after each successful renewal, with the time on the monotonic clock when it was sent. */
  readonly onRenewed?: (sentMs: number) => void;
  /** Called when this agent's Node does not exist. */
  readonly onNodeGone: () => void;
  /** Called after the first successful renewal and after each recovery: the control plane may have marked this node as lost. */
  readonly onRecovered: () => void;
}

/**
 * Renews the node's Lease every second, independently of all other work. The Lease is owned by the Node, so it is deleted with a Node
 * that is removed for good. When the Node is removed but this agent lives, the Lease is created again immediately, without an owner until
 * there is a new Node: the garbage collector would delete a Lease whose owner is gone.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #lease: Lease | undefined;
  /**
   * The result of reading the Node after the Lease was gone: `seenUid` is the value of `nodeUid` at that time, `uid` the uid that was
   * read.
   */
  #looked: { readonly seenUid: string | undefined; readonly uid: string | undefined } | undefined;
  /** Whether the Node has to be read, and whether reading it has failed before. */
  #look: 'none' | 'due' | 'failed' = 'none';
  #state: 'beating' | 'failing' = 'failing';

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, onRenewed, onRecovered, intervalMs = INTERVAL_MS } = this.#options;
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      try {
        using deadline = withDeadline(clock, signal, DEADLINE_MS);
        await this.#renew(deadline);
        onRenewed?.(startedMs);
        if (this.#state === 'failing') onRecovered();
        this.#state = 'beating';
      } catch (error) {
        if (signal.aborted) return;
        if (this.#state === 'beating') logger.warn({ reason: errorMessage(error) }, 'heartbeat failed');
        this.#state = 'failing';
      }
      const restMs = intervalMs - (clock.monotonicMs() - startedMs);
      await pause(clock, Math.max(100, restMs), signal);
    }
  }

  /** Renews the Lease based on the last written version. The Lease is read again only after a rejected write. */
  async #renew(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const known = this.#lease ?? (await this.#find(signal));
        if (known === undefined) this.#look = 'due';
        if (this.#look !== 'none') await this.#lookForNode(signal);
        this.#lease = await this.#write(known, signal);
        return;
      } catch (error) {
        this.#lease = undefined;
        if (attempt === ATTEMPTS || !hasChanged(error)) throw error;
      }
    }
  }

  #write(lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, node, clock, intervalMs = INTERVAL_MS } = this.#options;
    const key: Lease['metadata'] = { namespace: LEASE_NAMESPACE, name: node };
    const spec = {
      holderIdentity: node,
      leaseDurationSeconds: Math.ceil((DURATION_INTERVALS * intervalMs) / 1000),
      renewTime: formatMicroTime(clock.now()),
    };
    const { ownerReferences = [], ...metadata } = lease?.metadata ?? key;
    const owners = this.#ownersOf(ownerReferences);
    const object: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...metadata, ...(owners.length === 0 ? {} : { ownerReferences: owners }) },
      spec: { ...lease?.spec, ...spec },
    };
    return lease === undefined ? client.create(LEASES, object, signal) : client.update(LEASES, object, signal);
  }

  /** The current Node, and owners that others have added. */
  #ownersOf(references: readonly OwnerReference[]): OwnerReference[] {
    const { node, nodeUid } = this.#options;
    const seenUid = nodeUid();
    const uid = this.#looked?.seenUid === seenUid ? this.#looked?.uid : seenUid;
    const others = references.filter(({ apiVersion, kind }) => apiVersion !== 'v1' || kind !== 'Node');
    return uid === undefined ? others : [{ apiVersion: 'v1', kind: 'Node', name: node, uid }, ...others];
  }

  /**
   * Reads the Node after the Lease was gone, because both may have been deleted and the known uid may be outdated. When the Node cannot
   * be read, the Lease has no owner until a later renewal has read it: without a Lease the node would count as lost.
   */
  async #lookForNode(signal: AbortSignal): Promise<void> {
    const { client, node, nodeUid, clock, logger, onNodeGone } = this.#options;
    const seenUid = nodeUid();
    try {
      using deadline = withDeadline(clock, signal, LOOK_MS);
      const found = await ignoreNotFound(client.get(NODES, { namespace: '', name: node }, deadline));
      this.#looked = { seenUid, uid: found?.metadata.uid };
      this.#look = 'none';
      if (found === undefined) onNodeGone();
    } catch (error) {
      signal.throwIfAborted();
      if (this.#look === 'failed') return;
      logger.warn({ reason: errorMessage(error) }, 'the Lease has no owner: the Node cannot be read');
      this.#looked = { seenUid, uid: undefined };
      this.#look = 'failed';
    }
  }

  #find(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, node } = this.#options;
    return ignoreNotFound(client.get(LEASES, { namespace: LEASE_NAMESPACE, name: node }, signal));
  }
}

/** Whether a write was rejected because another client has written, created or deleted the object. */
function hasChanged(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'NotFound') || isReason(error, 'AlreadyExists');
}
