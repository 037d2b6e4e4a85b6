import {
  type Clock,
  type Election,
  type ElectionEvent,
  errorMessage,
  formatMicroTime,
  pause,
  withDeadline,
} from '@gantry/base';
import { isReason, type Lease, LEASES } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';
import type { Renewals } from '../fencing/renewals.ts';

const NAMESPACE = 'kube-system';
const DURATION_SECONDS = 15;
const DURATION_MS = DURATION_SECONDS * 1000;
/** How often a holder renews the Lease. */
const RENEW_MS = 10_000;
/** How often a candidate looks, and a holder tries again. */
const INTERVAL_MS = 1_000;
/** The time limit of a candidate's attempt. */
const ATTEMPT_MS = 4_000;
/** The time limit for the release of the Lease. */
const RELEASE_MS = 1_000;

/** `lease` is the name of the Lease, `identity` that of this candidate, which is the name of its Node. */
export interface LeaseElectionOptions {
  readonly client: ObjectClient;
  readonly lease: string;
  readonly identity: string;
  /** The renewals of this candidate's Node. */
  readonly renewals: Pick<Renewals, 'tenure' | 'leftMs'>;
  /**
   * Whether the agent of the holder's Node does not hold its own Lease any more. True only by a read of that Lease that began after the
   * call, so that a holder that has come back since conflicts with the caller's write.
   */
  readonly isSilent: (holder: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The name of the Lease. Writes of the holder carry no term. */
interface LeaseTerm {
  readonly lease: string;
}

/**
 * Leads while this process holds the Lease and has not lost that of its Node since. So a dead holder is found by its Node's Lease, which is
 * renewed every second anyway, and this one is renewed seldom. Another holder's term also ends when its Lease has not changed for its duration,
 * by this process's clock. An own term ends when that time has passed since the last successful renewal was sent, and with the tenure of the
 * Node's Lease in which it was sent. A campaign that is aborted ends the term, and releases the Lease after that.
 */
export class LeaseElection implements Election<LeaseTerm> {
  readonly #options: LeaseElectionOptions;
  #seen: { version: string; atMs: number } | undefined;
  /** The last successful renewal: when it was sent, and in which tenure of the Node's Lease. */
  #renewed: { readonly sentMs: number; readonly tenure: number } | undefined;
  /**
   * The Lease as this process last wrote it. It is renewed without reading it first: the conditional write fails if another process holds
   * it.
   */
  #own: Lease | undefined;

  constructor(options: LeaseElectionOptions) {
    this.#options = options;
  }

  async *campaign(signal: AbortSignal): AsyncGenerator<ElectionEvent<LeaseTerm>> {
    const { clock, lease } = this.#options;
    let leads = false;
    while (!signal.aborted) {
      const isDue = clock.monotonicMs() - (this.#renewed?.sentMs ?? Number.NEGATIVE_INFINITY) >= RENEW_MS;
      if (!leads || isDue) await this.#renew(leads, signal);
      const holds = this.#leftMs() > 0;
      if (holds !== leads) yield holds ? { kind: 'elected', term: { lease } } : { kind: 'lost' };
      leads = holds;
      await pause(clock, leads ? Math.min(INTERVAL_MS, this.#leftMs()) : INTERVAL_MS, signal);
    }
    if (!leads) return;
    // The work has ended when the consumer asks for the next event: writes of this term carry no fence.
    yield { kind: 'lost' };
    await this.#release();
  }

  /** Tries to hold the Lease. Does nothing while this Node does not hold its own. */
  async #renew(leads: boolean, signal: AbortSignal): Promise<void> {
    const { clock, renewals, logger, lease } = this.#options;
    const [sentMs, tenure] = [clock.monotonicMs(), renewals.tenure()];
    if (tenure === undefined) return;
    try {
      // The term must end in time even when the API does not respond.
      using deadline = withDeadline(clock, signal, leads ? this.#leftMs() : ATTEMPT_MS);
      this.#renewed = (await this.#acquire(deadline)) ? { sentMs, tenure } : undefined;
    } catch (error) {
      if (!signal.aborted) logger.debug({ lease, reason: errorMessage(error) }, 'lease was not renewed');
    }
  }

  /** Lets another candidate hold the Lease at once. If this fails, the Lease expires. */
  async #release(): Promise<void> {
    const { client, clock, logger, lease } = this.#options;
    const own = this.#own;
    this.#own = undefined;
    if (own === undefined) return;
    using deadline = withDeadline(clock, new AbortController().signal, RELEASE_MS);
    try {
      // As in client-go's leader election.
      const spec = { ...own.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      await client.update(LEASES, { ...own, spec }, deadline);
    } catch (error) {
      logger.debug({ lease, reason: errorMessage(error) }, 'lease was not released');
    }
  }

  /** The remaining time of an own term; 0 without one. */
  #leftMs(): number {
    const { clock, renewals } = this.#options;
    if (this.#renewed === undefined || this.#renewed.tenure !== renewals.tenure()) return 0;
    return Math.max(0, Math.min(this.#renewed.sentMs + DURATION_MS - clock.monotonicMs(), renewals.leftMs()));
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { client, lease: name, identity, isSilent, clock } = this.#options;
    const key = { namespace: NAMESPACE, name };
    const now = formatMicroTime(clock.now());
    const mine = { holderIdentity: identity, leaseDurationSeconds: DURATION_SECONDS, renewTime: now };
    let found: Lease;
    const own = this.#own;
    this.#own = undefined;
    try {
      found = own ?? (await client.get(LEASES, key, signal));
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
      const object: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { ...key },
        spec: { ...mine, acquireTime: now, leaseTransitions: 0 },
      };
      this.#own = await client.create(LEASES, object, signal);
      return true;
    }
    const holder = found.spec?.holderIdentity ?? '';
    const isOthers = holder !== identity && holder !== '';
    if (isOthers && !this.#hasRunOut(found) && !(await isSilent(holder, signal))) return false;
    const taken =
      holder === identity ? {} : { acquireTime: now, leaseTransitions: (found.spec?.leaseTransitions ?? 0) + 1 };
    const object: Lease = { ...found, spec: { ...found.spec, ...mine, ...taken } };
    try {
      this.#own = await client.update(LEASES, object, signal);
      return true;
    } catch (error) {
      const changed = isReason(error, 'Conflict') || isReason(error, 'NotFound');
      if (changed && own !== undefined) return this.#acquire(signal);
      if (isReason(error, 'Conflict')) return false;
      throw error;
    }
  }

  #hasRunOut(lease: Lease): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, atMs: nowMs };
    return nowMs - this.#seen.atMs > (lease.spec?.leaseDurationSeconds ?? DURATION_SECONDS) * 1000;
  }
}
