import { errorMessage, formatMicroTime, withDeadline } from '@gantry/base';
import type { ControllerContext } from '@gantry/controller-runtime';
import { LEASES, NAMESPACES } from '@gantry/objects';
import type { Heartbeats } from './heartbeats.ts';
import type { Periods } from './periods.ts';

/** Namespace of the nodes' Leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';
/** An answer that takes longer than this says more about the API than about a node. */
export const VERIFY_MS = 1000;
/** The Lease that shows which controller-manager leads: it is ours, and always there. */
const OWN_LEASE = { namespace: 'kube-system', name: 'kube-controller-manager' };

/**
 * Finds out whether heartbeats could be observed at all, while none is: by writing a Lease of our own. A read would not do:
 * a store that is out of space answers reads and takes no heartbeat.
 */
export class ApiView {
  readonly #periods: Periods;
  #probing: Promise<void> | undefined;

  constructor(periods: Periods) {
    this.#periods = periods;
  }

  /**
   * Resolves with whether agents can renew their Leases now, from evidence that is new enough for nodes with these heartbeats. Rejects
   * with UnverifiedError when the API does not answer.
   */
  async confirm(
    heartbeats: Heartbeats,
    context: ControllerContext,
    signal: AbortSignal,
  ): Promise<'works' | 'interrupted'> {
    const { cache, clock } = context;
    const namespace = cache.get(NAMESPACES, { namespace: '', name: LEASE_NAMESPACE });
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) {
      this.#periods.interrupted();
      return 'interrupted';
    }
    if (heartbeats.isViewed(clock.monotonicMs())) return 'works';
    this.#probing ??= this.#probe(context, signal).finally(() => {
      this.#probing = undefined;
    });
    await this.#probing;
    return 'works';
  }

  async #probe({ client, clock }: ControllerContext, signal: AbortSignal): Promise<void> {
    using deadline = withDeadline(clock, signal, VERIFY_MS);
    const merge = { spec: { renewTime: formatMicroTime(clock.now()) } };
    try {
      await client.patch(LEASES, OWN_LEASE, { merge }, deadline);
    } catch (error) {
      signal.throwIfAborted();
      this.#periods.interrupted();
      throw new UnverifiedError(`whether heartbeats are stored could not be verified: ${errorMessage(error)}`);
    }
    this.#periods.viewed(clock.monotonicMs());
  }
}

/** The API could not be asked whether a node is alive. */
export class UnverifiedError extends Error {
  override readonly name = 'UnverifiedError';
}
