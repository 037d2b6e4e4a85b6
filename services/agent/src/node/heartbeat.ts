import { type Clock, errorMessage, formatMicroTime, pause, withDeadline } from '@gantry/base';
import { isReason, type Lease, LEASES, NODES, type OwnerReference } from '@gantry/objects';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';

/** Namespace of the nodes' Leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';
const INTERVAL_MS = 1_000;
/** For one renewal: short enough for one more attempt before the node counts as lost. */
const DEADLINE_MS = 1_800;
const DURATION_INTERVALS = 4;
/** For a look at the Node, so that a Lease is made in time without it. */
const LOOK_MS = 500;
/** Attempts of one renewal while other clients write the Lease at the same time. */
const ATTEMPTS = 5;

export interface HeartbeatOptions {
  readonly client: ObjectClient;
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two renewals; 1000 when absent. */
  readonly intervalMs?: number;
  /** The uid of this node's Node as it was seen last; undefined before. */
  readonly nodeUid: () => string | undefined;
  /** Called when there is no Node of this agent. */
  readonly onNodeGone: () => void;
  /** Called after the first renewal that succeeds again: the control plane may have marked this node as lost. */
  readonly onRecovered: () => void;
}

/**
 * Renews the node's Lease every second, independently of all other work. Its owner is the Node, so that it goes with a Node that is removed
 * for good. When the Node is removed and this agent lives, the Lease is made anew at once, without an owner until there is a Node again: one
 * that names a Node which is gone is collected.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #lease: Lease | undefined;
  /** The Node when the Lease was gone: `seenUid` is what `nodeUid` said then, `uid` what there was. */
  #looked: { readonly seenUid: string | undefined; readonly uid: string | undefined } | undefined;
  /** Whether the Node is to be looked for, and whether that has failed before. */
  #look: 'none' | 'due' | 'failed' = 'none';
  #state: 'beating' | 'failing' = 'failing';

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, onRecovered, intervalMs = INTERVAL_MS } = this.#options;
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      try {
        using deadline = withDeadline(clock, signal, DEADLINE_MS);
        await this.#renew(deadline);
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

  /** Renews the Lease from the version that was written last; it is read only after a write that was rejected. */
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

  /** The Node that there is, and owners that others have added. */
  #ownersOf(references: readonly OwnerReference[]): OwnerReference[] {
    const { node, nodeUid } = this.#options;
    const seenUid = nodeUid();
    const uid = this.#looked?.seenUid === seenUid ? this.#looked?.uid : seenUid;
    const others = references.filter(({ apiVersion, kind }) => apiVersion !== 'v1' || kind !== 'Node');
    return uid === undefined ? others : [{ apiVersion: 'v1', kind: 'Node', name: node, uid }, ...others];
  }

  /**
   * A Lease that is gone may have been collected with a Node. What was seen of that one last is out of date then. When the Node cannot be
   * read, the Lease has no owner until a later renewal has read it: without a Lease the node would count as lost.
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

/** Whether a write was rejected because another client has written, created or removed the object. */
function hasChanged(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'NotFound') || isReason(error, 'AlreadyExists');
}
