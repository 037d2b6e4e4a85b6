import {
  anySignal,
  type Clock,
  type Election,
  type ElectionEvent,
  errorMessage,
  formatMicroTime,
  pause,
  raceAbort,
  type Random,
  settlesWithin,
  withDeadline,
} from '@gantry/base';
import {
  createObjectClient,
  ignoreNotFound,
  type LeaseFence,
  type ObjectClient,
  type ObjectReader,
  type ObjectWriter,
} from '@gantry/client';
import { type Log, planLeaseSpec } from '@gantry/controller-runtime';
import { isLeadershipEnded, isReason, type Lease, LEASES, type ObjectKey, StatusError } from '@gantry/objects';

/** Durations of an election in milliseconds, with the defaults of Kubernetes. */
export interface LeaseTimes {
  /** How long others wait after the last renewal that they have seen; whole seconds; 15 000 when absent. */
  readonly leaseMs?: number;
  /** How long after its last renewal a leader stops acting; less than `leaseMs`; 10 000 when absent. */
  readonly renewMs?: number;
  /** Time between attempts; less than `renewMs`; 2000 when absent. */
  readonly retryMs?: number;
}

export interface LeaseElectionOptions extends LeaseTimes {
  readonly client: Pick<ObjectReader, 'get'> & Pick<ObjectWriter, 'create' | 'update'>;
  readonly lease: ObjectKey;
  /** Unique for this process. */
  readonly identity: string;
  /** Resolves when no work of a term is running. The Lease is not released before, only left to expire. */
  readonly idle: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A term of a leader that holds a Lease. */
export interface LeaseTerm {
  readonly identity: string;
  readonly transitions: number;
  /** Whether another process may have written before, so that caches must first catch up with its writes. */
  readonly follows: 'another' | 'nobody';
}

interface Held {
  readonly lease: Lease;
  /** Monotonic time at which this process stops acting. */
  readonly untilMs: number;
  /** Aborted when a response says that this term has ended. */
  readonly refused: AbortController;
}

/** A write that was not sent, because the term of this process is over. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';
}

/** Times that exclude each other. */
export class LeaseTimesError extends Error {
  override readonly name = 'LeaseTimesError';
}

/**
 * Elects a leader by a Lease of `coordination.k8s.io`, as Kubernetes' own components do: clients of both can take part in one election.
 * No clock of another machine is trusted: a candidate waits for the duration in the Lease since it saw the last change of it.
 *
 * A request that a leader sent before its time ran out may still arrive after another one leads. Gantry's API servers refuse it by its
 * fence. Others store it: there, reconciles must be idempotent, and writes that must not be repeated need a precondition
 * (`resourceVersion`, `uid`).
 */
export class LeaseElection implements Election<LeaseTerm> {
  readonly #options: LeaseElectionOptions;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  /** The version of the Lease that was seen last, and when its renewal was first seen. */
  #seen: { readonly renewal: string; readonly atMs: number } | undefined;
  /** The other process that leads, as last logged. */
  #leader: string | undefined;
  /** The term of this process, undefined while it does not lead. */
  #held: Held | undefined;

  constructor(options: LeaseElectionOptions) {
    const { leaseMs = 15_000, renewMs = 10_000, retryMs = 2000 } = options;
    if (!Number.isInteger(leaseMs / 1000)) throw new LeaseTimesError('leaseMs: must be whole seconds');
    if (!(renewMs < leaseMs)) throw new LeaseTimesError('renewMs: must be less than leaseMs');
    if (!(retryMs > 0 && retryMs < renewMs)) throw new LeaseTimesError('retryMs: must be between 0 and renewMs');
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#renewMs = renewMs;
    this.#retryMs = retryMs;
  }

  /**
   * The fence of a write: the term of this process. Throws NotLeadingError when it does not lead, also before it can have noticed that its time
   * is over: a process that was paused first reads what has arrived meanwhile, and only then runs the timer that ends its term.
   */
  fence(): LeaseFence {
    const { clock, lease, identity } = this.#options;
    const held = this.#held;
    if (held !== undefined && !held.refused.signal.aborted && clock.monotonicMs() < held.untilMs) {
      const { metadata, spec } = held.lease;
      return { ...lease, uid: metadata.uid ?? '', holder: identity, transitions: spec?.leaseTransitions ?? 0 };
    }
    throw new NotLeadingError(
      `this process does not hold the Lease ${lease.namespace}/${lease.name} any more: nothing was written`,
    );
  }

  /**
   * Stops the writes of this process, if its term is still that of `fence`: a response says that the term has ended. It may be that of an
   * admission webhook or an aggregated API server, so the term goes on if the Lease can be renewed in it.
   */
  refused(fence: LeaseFence, error: Error): void {
    const held = this.#held;
    if (held === undefined || held.refused.signal.aborted) return;
    const { metadata, spec } = held.lease;
    if (metadata.uid !== fence.uid || (spec?.leaseTransitions ?? 0) !== fence.transitions) return;
    const { log, lease } = this.#options;
    log.warn({ lease, reason: error.message }, 'a write was refused as that of a former leader: looks at the Lease');
    held.refused.abort();
  }

  /** Renews while the consumer waits for the next event, so it must ask for that at once, as `lead` does. */
  async *campaign(signal: AbortSignal): AsyncIterable<ElectionEvent<LeaseTerm>> {
    const { clock, random } = this.#options;
    let held: Held | undefined;
    try {
      while (!signal.aborted) {
        if (held === undefined) {
          const sentMs = clock.monotonicMs();
          const won = await this.#try('acquire', this.#renewMs, signal, (within) => this.#acquire(within));
          if (won !== undefined && won !== 'held by another') {
            held = { lease: won.lease, untilMs: sentMs + this.#renewMs, refused: new AbortController() };
            this.#held = held;
            yield { kind: 'elected', term: this.#term(won) };
          }
        } else {
          held = held.refused.signal.aborted ? await this.#review(held, signal) : await this.#keep(held, signal);
          this.#held = held;
          if (held === undefined && !signal.aborted) yield { kind: 'lost' };
        }
        // Candidates that failed together must not try together again. A leader that cannot renew stops when its time is over, not later.
        const leftMs = held === undefined ? this.#retryMs * (1 + 0.2 * random()) : held.untilMs - clock.monotonicMs();
        using over = anySignal(signal, ...(held === undefined ? [] : [held.refused.signal]));
        await pause(clock, held === undefined ? leftMs : Math.min(this.#retryMs, leftMs), over);
      }
    } finally {
      if (held !== undefined) await this.#release(held);
      this.#held = undefined;
    }
  }

  #term({ lease, follows }: { readonly lease: Lease; readonly follows: LeaseTerm['follows'] }): LeaseTerm {
    return { identity: this.#options.identity, transitions: lease.spec?.leaseTransitions ?? 0, follows };
  }

  /** Renews. Undefined when another process holds the Lease, or when the time is over. */
  async #keep(held: Held, signal: AbortSignal): Promise<Held | undefined> {
    const { clock } = this.#options;
    const sentMs = clock.monotonicMs();
    const result = await this.#try('renew', held.untilMs - sentMs, signal, (within) => this.#renew(held.lease, within));
    if (result === 'held by another') return undefined;
    if (result !== undefined)
      return isSameTerm(result, held.lease) ? { ...held, lease: result, untilMs: sentMs + this.#renewMs } : undefined;
    return signal.aborted || clock.monotonicMs() < held.untilMs ? held : undefined;
  }

  /** After a refusal: undefined unless the Lease was renewed in the same term. */
  async #review(held: Held, signal: AbortSignal): Promise<Held | undefined> {
    const kept = await this.#keep(held, signal);
    if (kept === undefined || kept === held) return undefined;
    return { ...kept, refused: new AbortController() };
  }

  /** Undefined after a failure, which is logged. */
  async #try<T>(
    what: 'acquire' | 'renew',
    ms: number,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, log, lease } = this.#options;
    try {
      using within = withDeadline(clock, signal, ms);
      // The end of a term must not depend on a client that stops at once, for example while a plugin fetches its credentials.
      return await raceAbort(work(within), within);
    } catch (error) {
      // Another candidate was faster.
      const isRace = isReason(error, 'Conflict') || isReason(error, 'AlreadyExists');
      if (!signal.aborted && !isRace) log.warn({ lease, reason: errorMessage(error) }, `failed to ${what} the Lease`);
      return undefined;
    }
  }

  async #acquire(signal: AbortSignal): Promise<{ lease: Lease; follows: LeaseTerm['follows'] } | 'held by another'> {
    const { client, lease: key } = this.#options;
    const current = await ignoreNotFound(client.get(LEASES, key, signal));
    if (current === undefined) {
      const spec = this.#spec(undefined);
      const object: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...key }, spec };
      // Another process may have led: the Lease may have been deleted since.
      return { lease: await client.create(LEASES, object, signal), follows: 'another' };
    }
    // After a renewal that came too late, the Lease may still be that of this process: nobody else has led since. It is another term
    // nevertheless, which keeps out what is still on its way from the former one.
    const isOwn = current.spec?.holderIdentity === this.#options.identity;
    if (!isOwn && this.#isHeld(current)) {
      this.#noteLeader(current.spec?.holderIdentity);
      return 'held by another';
    }
    this.#leader = undefined;
    const free = { ...current, spec: { ...current.spec, holderIdentity: '' } };
    return { lease: await this.#update(free, signal), follows: isOwn ? 'nobody' : 'another' };
  }

  async #renew(held: Lease, signal: AbortSignal): Promise<Lease | 'held by another'> {
    const { client, lease: key, identity } = this.#options;
    try {
      return await this.#update(held, signal);
    } catch (error) {
      // Somebody wrote a label, or an earlier renewal was carried out although its response was lost.
      if (!isReason(error, 'Conflict') && !isReason(error, 'NotFound')) throw error;
    }
    const current = await ignoreNotFound(client.get(LEASES, key, signal));
    if (current?.spec?.holderIdentity !== identity) return 'held by another';
    return await this.#update(current, signal);
  }

  #update(current: Lease, signal: AbortSignal): Promise<Lease> {
    return this.#options.client.update(LEASES, { ...current, spec: this.#spec(current.spec) }, signal);
  }

  #spec(current: Lease['spec']): NonNullable<Lease['spec']> {
    return planLeaseSpec(current, this.#options.identity, this.#options.clock.now(), this.#leaseMs / 1000);
  }

  #isHeld({ spec, metadata }: Lease): boolean {
    const now = this.#options.clock.monotonicMs();
    const renewal = JSON.stringify([metadata.uid, spec]);
    if (this.#seen?.renewal !== renewal) this.#seen = { renewal, atMs: now };
    if ((spec?.holderIdentity ?? '') === '') return false;
    return now < this.#seen.atMs + (spec?.leaseDurationSeconds ?? 0) * 1000;
  }

  /** Without this, a replica that waits would log nothing at all. */
  #noteLeader(leader: string | undefined): void {
    if (this.#leader === leader) return;
    this.#leader = leader;
    this.#options.log.info({ lease: this.#options.lease, leader }, 'another process leads, waits for the Lease');
  }

  /** Lets others lead at once. Work that does not end within the rest of the term leaves the Lease to expire. */
  async #release({ lease, untilMs }: Held): Promise<void> {
    const { clock, client, idle, log } = this.#options;
    const never = new AbortController().signal;
    if (!(await settlesWithin(clock, idle(), Math.max(0, untilMs - clock.monotonicMs())))) return;
    try {
      using within = withDeadline(clock, never, Math.max(0, untilMs - clock.monotonicMs()));
      const time = formatMicroTime(clock.now());
      const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: time, acquireTime: time };
      await raceAbort(client.update(LEASES, { ...lease, spec }, within), within);
    } catch (error) {
      log.warn({ lease: this.#options.lease, reason: errorMessage(error) }, 'the Lease was not released: it expires');
    }
  }
}

function isSameTerm(a: Lease, b: Lease): boolean {
  return a.metadata.uid === b.metadata.uid && (a.spec?.leaseTransitions ?? 0) === (b.spec?.leaseTransitions ?? 0);
}

/** A client that sends no write when this process does not lead, and each other one with the fence of its term. */
export function whileLeading(client: ObjectClient, election: Pick<LeaseElection, 'fence' | 'refused'>): ObjectClient {
  const ended = (fence: LeaseFence, error: unknown): void => {
    if (isLeadershipEnded(error)) election.refused(fence, error);
  };
  return createObjectClient({
    get: (resource, key, signal) => client.get(resource, key, signal),
    list: (resource, options, signal) => client.list(resource, options, signal),
    watch: (resource, options, signal) => client.watch(resource, options, signal),
    write: async (write, signal) => {
      const fence = election.fence();
      try {
        return await client.write({ ...write, fence }, signal);
      } catch (error) {
        ended(fence, error);
        throw error;
      }
    },
    batch: async (writes, signal) => {
      const fence = election.fence();
      const fenced = writes.map((write) => ({ ...write, fence }));
      const results = await client.batch(fenced, signal);
      for (const result of results) if (!result.ok) ended(fence, StatusError.fromStatus(result.status));
      return results;
    },
  });
}
