import { errorMessage, formatMicroTime, withDeadline } from '@gantry/base';
import type { ControllerContext } from '@gantry/controller-runtime';
import { LEASES, NAMESPACES } from '@gantry/objects';
import type { Heartbeats } from './heartbeats.ts';
import type { Periods } from './periods.ts';

/** Namespace of the nodes' Leases. */
export const LEASE_NAMESPACE = 'kube-node-lease';
/** Milliseconds after which a missing response indicates a problem of the API rather than of a node. */
export const VERIFY_MS = 1000;
/** The Lease that shows which controller-manager leads: it is ours and always exists. */
const OWN_LEASE = { namespace: 'kube-system', name: 'kube-controller-manager' };

/**
 * Checks whether heartbeats could be observed at all while none arrives, by writing a Lease of our own. A read is not sufficient: a store
 * without space still serves reads but accepts no heartbeats.
 */
export class ApiView {
  readonly #periods: Periods;
  #probing: Promise<void> | undefined;

  constructor(periods: Periods) {
    this.#periods = periods;
  }

  /**
   * Resolves with whether agents can renew their Leases now, based on evidence that is recent enough for nodes with these heartbeats.
   * Rejects with UnverifiedError when the API does not respond.
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

/** The API did not respond to the check whether a node is alive. */
export class UnverifiedError extends Error {
  override readonly name = 'UnverifiedError';
}
