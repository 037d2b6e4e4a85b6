import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, pause, type Random, Signal } from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import type { CallOptions, Etcd, KeyValue, Lease } from '../ports.ts';
import type { LeasePace } from './lease-pace.ts';

/**
 * The state of a held lease. `standing`: it cannot have expired according to the local clock. `in-doubt`: it may have expired; renewals
 * continue. `gone`: it has expired, or its key belongs to another candidate. `gone` is final.
 */
export type LeaseState = 'standing' | 'in-doubt' | 'gone';

/** A lease that is renewed in the background. */
export interface HeldLease {
  /** The leases of which one carries the key. */
  readonly leases: readonly Lease[];
  /** State changes, until `gone` or `release`. The initial state is `standing`. */
  readonly states: AsyncIterable<LeaseState>;
  /** Stops renewing; the states end. */
  release(): void;
}

/** A lease, and its request. */
export interface GrantedLease {
  readonly lease: Lease;
  /** The requested time to live, in milliseconds. */
  readonly wantedMs: number;
  /** Monotonic time at which it was requested. */
  readonly sentAtMs: number;
  /** How long it took until it carried the key, in milliseconds. */
  readonly lateMs: number;
}

/** A key that must stay as it is for the length of the term. */
interface TermKey {
  readonly key: string;
  readonly isKept: (kv: KeyValue | undefined) => boolean;
}

/** How late a renewal was, and etcd's term before it. */
interface Lateness {
  readonly lateMs: number;
  readonly raftTerm: number;
}

interface NextLease {
  readonly lease: Lease;
  readonly wantedMs: number;
  readonly deadlineMs: number;
}

interface HolderOptions {
  readonly etcd: Pick<Etcd, 'memberCount' | 'kv' | 'watcher' | 'leases'>;
  readonly clock: Clock;
  readonly random: Random;
  /** The key that the lease carries, its value, and its create revision. */
  readonly key: string;
  readonly identity: string;
  readonly epoch: number;
  /** The key of the cluster's incarnation, and its mod revision. */
  readonly incarnation: { readonly key: string; readonly modRevision: number };
  readonly pace: LeasePace;
  /** Called with the time to live of the lease that carries the key, first and after each change. */
  readonly onLease?: (ttlMs: number) => void;
}

/** Renewals per time to live. A call for one has as long as the time between two. */
const RENEWALS_PER_TTL = 4;
/** The local deadline is this share earlier than etcd's, because clocks differ in speed. */
const MARGIN = 0.05;
/** Milliseconds for a check of the key after its watch has lost history. */
const WATCH_CHECK_MS = 500;
/** Short, because a lease may be as short as two seconds. */
const RETRY: BackoffOptions = { initialMs: 50, maxMs: 100, jitter: 0.5 };

/**
 * Renews a lease four times per time to live, at another member after each failure. The local deadline counts from the time at which the
 * last successful renewal was sent. When renewals become late, the key moves to a lease with a longer time to live, and back when they are
 * in time again. The key's create revision, which is the epoch, does not change.
 *
 * A renewal that waited until etcd had a leader again does not count as late: the new leader has given each lease its whole time to live, and
 * the wait says nothing about this machine.
 */
export function holdLease(options: HolderOptions, granted: GrantedLease): HeldLease {
  return new LeaseHolder(options, granted);
}

/** The local deadline of a lease that was granted or renewed by a request sent at this time. */
function deadlineOf(sentAtMs: number, ttlMs: number): number {
  return sentAtMs + ttlMs * (1 - MARGIN);
}

class LeaseHolder implements HeldLease {
  readonly #options: HolderOptions;
  #lease: Lease;
  readonly #stop = new AbortController();
  readonly #pending: LeaseState[] = [];
  readonly #change = new Signal();
  #state: LeaseState = 'standing';
  #error: { readonly reason: unknown } | undefined;
  #deadlineMs = 0;
  #cancelDeadline: CancelTimer = () => {};
  /** The time to live that was requested for the current lease; etcd may grant more. */
  #wantedMs: number;
  /** A lease to which the key is moving. */
  #next: NextLease | undefined;
  /** Of the last renewal. Whether etcd had no leader meanwhile is known by the next one. */
  #last: Lateness;
  #raftTerm: number;

  constructor(options: HolderOptions, { lease, wantedMs, sentAtMs, lateMs }: GrantedLease) {
    this.#options = options;
    this.#lease = lease;
    this.#wantedMs = wantedMs;
    this.#raftTerm = lease.raftTerm;
    this.#last = { lateMs, raftTerm: lease.raftTerm };
    this.#armDeadline(deadlineOf(sentAtMs, lease.ttlMs));
    options.onLease?.(lease.ttlMs);
    const watches = this.#termKeys().map((termKey) => this.#watchKey(termKey));
    for (const run of [this.#renew(), ...watches]) run.catch((error: unknown) => this.#fail(error));
  }

  get states(): AsyncIterable<LeaseState> {
    return { [Symbol.asyncIterator]: () => this.#iterate() };
  }

  get leases(): readonly Lease[] {
    return this.#next === undefined ? [this.#lease] : [this.#lease, this.#next.lease];
  }

  release(): void {
    // No later renewal can tell whether etcd had no leader, so the last one counts.
    this.#options.pace.observe(this.#last.lateMs);
    this.#cancelDeadline();
    this.#stop.abort();
    this.#change.notify();
  }

  async *#iterate(): AsyncGenerator<LeaseState> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error.reason;
      const state = this.#pending.shift();
      if (state !== undefined) yield state;
      else if (this.#stop.signal.aborted) return;
      else await this.#change.wait(this.#options.clock, Infinity, this.#stop.signal);
    }
  }

  #fail(reason: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#error ??= { reason };
    this.#change.notify();
  }

  #enter(state: LeaseState): void {
    if (this.#state === state || this.#state === 'gone') return;
    this.#state = state;
    this.#pending.push(state);
    this.#change.notify();
  }

  #armDeadline(atMs: number): void {
    const { clock } = this.#options;
    this.#cancelDeadline();
    this.#deadlineMs = atMs;
    this.#cancelDeadline = clock.setTimer(atMs - clock.monotonicMs(), () => this.#enter('in-doubt'));
  }

  async #renew(): Promise<void> {
    const { clock, etcd, random, pace } = this.#options;
    const { signal } = this.#stop;
    let member = 0;
    let failures = 0;
    let dueMs = clock.monotonicMs() + this.#lease.ttlMs / RENEWALS_PER_TTL;
    let pauseMs = dueMs - clock.monotonicMs();
    while (!signal.aborted) {
      await pause(clock, pauseMs, signal);
      if (signal.aborted) return;
      const call = { signal, timeoutMs: this.#lease.ttlMs / RENEWALS_PER_TTL, member };
      try {
        if (this.#next !== undefined) await this.#settleMove(this.#next, call);
        const sentAtMs = clock.monotonicMs();
        const renewed = await etcd.leases.keepAlive(this.#lease.id, call);
        if (this.#state === 'in-doubt' && !(await this.#stillOurs(call))) return this.#enter('gone');
        this.#armDeadline(deadlineOf(sentAtMs, renewed.ttlMs));
        this.#enter('standing');
        const lateMs = clock.monotonicMs() - dueMs;
        await this.#adjust(lateMs, renewed.raftTerm, call);
        failures = 0;
        // After a late one, the next tells at once whether etcd had no leader.
        const intervalMs = pace.isLate(lateMs) ? 0 : this.#lease.ttlMs / RENEWALS_PER_TTL;
        dueMs = Math.max(clock.monotonicMs(), sentAtMs + intervalMs);
        pauseMs = dueMs - clock.monotonicMs();
      } catch (error) {
        if (signal.aborted) return;
        if (isEtcdError(error, 'lease-gone')) return this.#enter('gone');
        member += 1;
        failures += 1;
        pauseMs = backoffMs(RETRY, failures, random);
      }
    }
  }

  /** Moves the key to a new lease when another time to live fits. A move that fails is tried again after the next renewal. */
  async #adjust(lateMs: number, raftTerm: number, call: CallOptions): Promise<void> {
    const { clock, etcd, key, identity, epoch, pace } = this.#options;
    if (this.#last.raftTerm === raftTerm) pace.observe(this.#last.lateMs);
    this.#last = { lateMs, raftTerm: this.#raftTerm };
    this.#raftTerm = raftTerm;
    const ttlMs = pace.ttlMs();
    if (ttlMs === this.#wantedMs) return;
    try {
      const grantedAtMs = clock.monotonicMs();
      const lease = await etcd.leases.grant(ttlMs, call);
      const next = { lease, wantedMs: ttlMs, deadlineMs: deadlineOf(grantedAtMs, lease.ttlMs) };
      this.#next = next;
      // From now on either lease may carry the key.
      this.#armDeadline(Math.min(this.#deadlineMs, next.deadlineMs));
      const put = { kind: 'put', key, value: Buffer.from(identity), lease: lease.id } as const;
      const compare = { key, target: 'create-revision', equals: epoch } as const;
      const { succeeded } = await etcd.kv.transact({ compare: [compare], success: [put], failure: [] }, call);
      if (succeeded) this.#moved(next);
      else this.#next = undefined;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (!isEtcdError(error, 'outcome-unknown')) this.#next = undefined;
    }
  }

  /** Finds out whether a move with unknown outcome has happened. If not, it revokes the new lease: a later arrival then fails. */
  async #settleMove(next: NextLease, call: CallOptions): Promise<void> {
    const { etcd, key } = this.#options;
    const { kvs } = await etcd.kv.range({ key }, call);
    if (kvs[0]?.lease === next.lease.id) return this.#moved(next);
    await etcd.leases.revoke(next.lease.id, call);
    this.#next = undefined;
  }

  /** The former lease carries nothing and expires. */
  #moved({ lease, wantedMs, deadlineMs }: NextLease): void {
    this.#lease = lease;
    this.#wantedMs = wantedMs;
    this.#next = undefined;
    this.#armDeadline(deadlineMs);
    this.#options.onLease?.(lease.ttlMs);
  }

  /** Whether all keys of the term are as they were. Checked before a term continues after `in-doubt`. */
  async #stillOurs(call: CallOptions): Promise<boolean> {
    const checks = await Promise.all(this.#termKeys().map((termKey) => this.#isKept(termKey, call)));
    return checks.every((isKept) => isKept);
  }

  /** The key with the lease may be written again: it moves between leases. The incarnation changes with a restore. */
  #termKeys(): readonly TermKey[] {
    const { key, epoch, incarnation } = this.#options;
    return [
      { key, isKept: (kv) => kv?.createRevision === epoch },
      { key: incarnation.key, isKept: (kv) => kv?.modRevision === incarnation.modRevision },
    ];
  }

  async #isKept({ key, isKept }: TermKey, call: CallOptions): Promise<boolean> {
    const { kvs } = await this.#options.etcd.kv.range({ key }, call);
    return isKept(kvs[0]);
  }

  /** Detects a change of a key of the term while the lease is valid, for example by a restore or an operator. */
  async #watchKey(termKey: TermKey): Promise<void> {
    const { clock, random, epoch } = this.#options;
    const { signal } = this.#stop;
    let startRevision = epoch + 1;
    for (let failures = 0; !signal.aborted; failures++) {
      if (failures > 0) await pause(clock, backoffMs(RETRY, failures, random), signal);
      try {
        const end = await this.#watchFrom(termKey, startRevision);
        if (end === 'changed') return this.#enter('gone');
        if (end === 'stopped') return;
        const call = { signal, timeoutMs: WATCH_CHECK_MS, member: failures };
        if (!(await this.#isKept(termKey, call))) return this.#enter('gone');
        startRevision = end.compactRevision;
      } catch (error) {
        if (!(error instanceof EtcdError) || error.code === 'permission-denied') throw error;
      }
    }
  }

  /** How a watch of a key of the term ended. */
  async #watchFrom(
    { key, isKept }: TermKey,
    startRevision: number,
  ): Promise<'changed' | 'stopped' | { readonly compactRevision: number }> {
    for await (const item of this.#options.etcd.watcher.watch({ key, startRevision }, this.#stop.signal)) {
      if (item.kind === 'compacted') return item;
      if (item.kind !== 'events') continue;
      if (item.events.some((event) => !isKept(event.kind === 'put' ? event.kv : undefined))) return 'changed';
    }
    return 'stopped';
  }
}
