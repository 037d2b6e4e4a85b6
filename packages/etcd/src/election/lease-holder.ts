import { backoffMs, type BackoffOptions, type CancelTimer, type Clock, pause, type Random, Signal } from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import type { Etcd, Lease } from '../ports.ts';

/**
 * The state of a held lease. `standing`: it cannot have expired according to the local clock. `in-doubt`: it may have expired; renewals
 * continue. `gone`: it has expired, or its key belongs to another candidate. `gone` is final.
 */
export type LeaseState = 'standing' | 'in-doubt' | 'gone';

/** A lease that is renewed in the background. */
export interface HeldLease {
  /** State changes, until `gone` or `release`. The initial state is `standing`. */
  readonly states: AsyncIterable<LeaseState>;
  /** Stops renewing; the states end. */
  release(): void;
}

interface HolderOptions {
  readonly etcd: Pick<Etcd, 'memberCount' | 'kv' | 'watcher' | 'leases'>;
  readonly clock: Clock;
  readonly random: Random;
  /** The key that the lease carries, and its create revision. */
  readonly key: string;
  readonly epoch: number;
}

const RENEWAL_TIMEOUT_MS = 500;
/** The local deadline is this share earlier than etcd's, because clocks differ in speed. */
const MARGIN = 0.05;
/** Short, because a lease may be as short as two seconds. */
const RETRY: BackoffOptions = { initialMs: 50, maxMs: 100, jitter: 0.5 };

/**
 * Renews a lease four times per time to live, at another member after each failure. The local deadline counts from the time at which the
 * last successful renewal was sent.
 */
export function holdLease(options: HolderOptions, lease: Lease, sentAtMs: number): HeldLease {
  return new LeaseHolder(options, lease, sentAtMs);
}

class LeaseHolder implements HeldLease {
  readonly #options: HolderOptions;
  readonly #lease: Lease;
  readonly #stop = new AbortController();
  readonly #pending: LeaseState[] = [];
  readonly #change = new Signal();
  #state: LeaseState = 'standing';
  #error: { readonly reason: unknown } | undefined;
  #cancelDeadline: CancelTimer = () => {};

  constructor(options: HolderOptions, lease: Lease, sentAtMs: number) {
    this.#options = options;
    this.#lease = lease;
    this.#armDeadline(sentAtMs, lease.ttlMs);
    for (const run of [this.#renew(), this.#watchKey()]) run.catch((error: unknown) => this.#fail(error));
  }

  get states(): AsyncIterable<LeaseState> {
    return { [Symbol.asyncIterator]: () => this.#iterate() };
  }

  release(): void {
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

  #armDeadline(sentAtMs: number, ttlMs: number): void {
    const { clock } = this.#options;
    this.#cancelDeadline();
    const remainingMs = sentAtMs + ttlMs * (1 - MARGIN) - clock.monotonicMs();
    this.#cancelDeadline = clock.setTimer(remainingMs, () => this.#enter('in-doubt'));
  }

  async #renew(): Promise<void> {
    const { clock, etcd } = this.#options;
    const { signal } = this.#stop;
    let member = 0;
    let failures = 0;
    let pauseMs = this.#lease.ttlMs / 4;
    while (!signal.aborted) {
      await pause(clock, pauseMs, signal);
      if (signal.aborted) return;
      const sentAtMs = clock.monotonicMs();
      try {
        const renewed = await etcd.leases.keepAlive(this.#lease.id, { signal, timeoutMs: RENEWAL_TIMEOUT_MS, member });
        if (this.#state === 'in-doubt' && !(await this.#stillOurs(member))) return this.#enter('gone');
        this.#armDeadline(sentAtMs, renewed.ttlMs);
        this.#enter('standing');
        failures = 0;
        pauseMs = Math.max(0, renewed.ttlMs / 4 - (clock.monotonicMs() - sentAtMs));
      } catch (error) {
        if (signal.aborted) return;
        if (isEtcdError(error, 'lease-gone')) return this.#enter('gone');
        member += 1;
        failures += 1;
        pauseMs = backoffMs(RETRY, failures, this.#options.random);
      }
    }
  }

  /** Whether the key is still the one that was created with the lease. Checked before a term continues after `in-doubt`. */
  async #stillOurs(member: number): Promise<boolean> {
    const { etcd, key, epoch } = this.#options;
    const { kvs } = await etcd.kv.range({ key }, { signal: this.#stop.signal, timeoutMs: RENEWAL_TIMEOUT_MS, member });
    return kvs[0]?.createRevision === epoch;
  }

  /** Detects deletion of the key while its lease is valid, for example by a restore or an operator. Also works after a compaction. */
  async #watchKey(): Promise<void> {
    const { clock, random, epoch } = this.#options;
    const { signal } = this.#stop;
    let startRevision = epoch + 1;
    for (let failures = 0; !signal.aborted; failures++) {
      if (failures > 0) await pause(clock, backoffMs(RETRY, failures, random), signal);
      try {
        const end = await this.#watchFrom(startRevision);
        if (end === 'deleted') return this.#enter('gone');
        if (end === 'stopped') return;
        if (!(await this.#stillOurs(failures))) return this.#enter('gone');
        startRevision = end.compactRevision;
      } catch (error) {
        if (!(error instanceof EtcdError) || error.code === 'permission-denied') throw error;
      }
    }
  }

  /** How a watch of the key ended. */
  async #watchFrom(startRevision: number): Promise<'deleted' | 'stopped' | { readonly compactRevision: number }> {
    const { etcd, key } = this.#options;
    for await (const item of etcd.watcher.watch({ key, startRevision }, this.#stop.signal)) {
      if (item.kind === 'events' && item.events.some((event) => event.kind === 'delete')) return 'deleted';
      if (item.kind === 'compacted') return item;
    }
    return 'stopped';
  }
}
