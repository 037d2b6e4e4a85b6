import { type Clock, errorMessage, formatMicroTime, pause, withDeadline } from '@gantry/base';
import { isReason, type Lease, type ResourceRef } from '@gantry/api';
import type { ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';

export const LEASES: ResourceRef = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
const NAMESPACE = 'kube-node-lease';
const INTERVAL_MS = 1_000;
/** Within the time after which a node counts as lost, with room for one more try. */
const DEADLINE_MS = 1_800;
const DURATION_SECONDS = 4;
/** How often a Lease that others write meanwhile is read and renewed anew before the heartbeat counts as failed. */
const ATTEMPTS = 5;

export interface HeartbeatOptions {
  readonly client: ObjectClient;
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after a renewal that followed failed ones: others may have taken this node for lost. */
  readonly onRecovered: () => void;
}

/** Renews the node's Lease every second, apart from all other work. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #lease: Lease | undefined;
  #state: 'beating' | 'failing' = 'failing';

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, onRecovered } = this.#options;
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
      const restMs = INTERVAL_MS - (clock.monotonicMs() - startedMs);
      await pause(clock, Math.max(100, restMs), signal);
    }
  }

  /** Renews the Lease as it was written last, without reading it first: only a guarded write that fails makes that needed. */
  async #renew(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#lease = await this.#write(this.#lease ?? (await this.#find(signal)), signal);
        return;
      } catch (error) {
        this.#lease = undefined;
        if (attempt === ATTEMPTS || !hasChanged(error)) throw error;
      }
    }
  }

  #write(lease: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { client, node, clock } = this.#options;
    const key = { namespace: NAMESPACE, name: node };
    const spec = {
      holderIdentity: node,
      leaseDurationSeconds: DURATION_SECONDS,
      renewTime: formatMicroTime(clock.now()),
    };
    if (lease !== undefined) {
      const object: Lease = { ...lease, spec: { ...lease.spec, ...spec } };
      return client.write<Lease>({ verb: 'update', resource: LEASES, key, object }, signal);
    }
    const object: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...key }, spec };
    return client.write<Lease>({ verb: 'create', resource: LEASES, namespace: NAMESPACE, object }, signal);
  }

  async #find(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get<Lease>(LEASES, { namespace: NAMESPACE, name: this.#options.node }, signal);
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}

/** Whether a write failed only since somebody else has written, made or removed the object. */
function hasChanged(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'NotFound') || isReason(error, 'AlreadyExists');
}
