import { type CancelTimer, type Clock, errorMessage, sleep } from '@gantry/base';
import { isEtcdError } from '../etcd-error.ts';
import type { Etcd, Lease } from '../ports.ts';

/**
 * What is known of a lease that is being kept. `standing`: by the local clock it cannot have run out. `in-doubt`: it may have, renewing
 * goes on. `gone`: it has, or its key is another's; the last state.
 */
export type LeaseState = 'standing' | 'in-doubt' | 'gone';

export interface HeldLease {
  /** Changes from `standing`, with which it begins, until `gone` or released. */
  readonly states: AsyncIterable<LeaseState>;
  /** Stops renewing; the states end. */
  release(): void;
}

interface HolderOptions {
  readonly etcd: Pick<Etcd, 'memberCount' | 'kv' | 'watcher' | 'leases'>;
  readonly clock: Clock;
  /** The key that the lease carries, and its create revision. */
  readonly key: string;
  readonly epoch: number;
}

const RENEWAL_TIMEOUT_MS = 500;
/** Kept between the local deadline and etcd's, for clocks that do not run equally fast. */
const MARGIN = 0.05;
const RETRY_PAUSE_MS = 50;

/** Keeps a lease by renewals at four per time to live, at another member after each failure. Time counts from the sending of the last that succeeded. */
export function holdLease(options: HolderOptions, lease: Lease, sentAtMs: number): HeldLease {
  return new LeaseHolder(options, lease, sentAtMs);
}

class LeaseHolder implements HeldLease {
  readonly #options: HolderOptions;
  readonly #lease: Lease;
  readonly #stop = new AbortController();
  readonly #pending: LeaseState[] = [];
  #wake: () => void = () => {};
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
    this.#wake();
  }

  async *#iterate(): AsyncGenerator<LeaseState> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error.reason;
      const state = this.#pending.shift();
      if (state !== undefined) yield state;
      else if (this.#stop.signal.aborted) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #fail(reason: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#error ??= { reason };
    this.#wake();
  }

  #enter(state: LeaseState): void {
    if (this.#state === state || this.#state === 'gone') return;
    this.#state = state;
    this.#pending.push(state);
    this.#wake();
  }

  #armDeadline(sentAtMs: number, ttlMs: number): void {
    const { clock } = this.#options;
    this.#cancelDeadline();
    const remainingMs = sentAtMs + ttlMs * (1 - MARGIN) - clock.monotonicMs();
    this.#cancelDeadline = clock.setTimer(remainingMs, () => this.#enter('in-doubt'));
  }

  async #renew(): Promise<void> {
    const { clock, etcd } = this.#options;
    const signal = this.#stop.signal;
    let member = 0;
    let pauseMs = this.#lease.ttlMs / 4;
    while (!signal.aborted) {
      if (!(await slept(clock, pauseMs, signal))) return;
      const sentAtMs = clock.monotonicMs();
      try {
        const renewed = await etcd.leases.keepAlive(this.#lease.id, { signal, timeoutMs: RENEWAL_TIMEOUT_MS, member });
        if (this.#state === 'in-doubt' && !(await this.#stillOurs(member))) return this.#enter('gone');
        this.#armDeadline(sentAtMs, renewed.ttlMs);
        this.#enter('standing');
        pauseMs = Math.max(0, renewed.ttlMs / 4 - (clock.monotonicMs() - sentAtMs));
      } catch (error) {
        if (signal.aborted) return;
        if (isEtcdError(error, 'lease-gone')) return this.#enter('gone');
        member += 1;
        pauseMs = RETRY_PAUSE_MS;
      }
    }
  }

  /** Whether the key still is what the lease made: asked before going on after a doubt. */
  async #stillOurs(member: number): Promise<boolean> {
    const { etcd, key, epoch } = this.#options;
    const { kvs } = await etcd.kv.range({ key }, { signal: this.#stop.signal, timeoutMs: RENEWAL_TIMEOUT_MS, member });
    return kvs[0]?.createRevision === epoch;
  }

  /** Tells a key that is taken away while its lease stands (by a restore, or an operator). */
  async #watchKey(): Promise<void> {
    const { etcd, key, epoch } = this.#options;
    const watch = etcd.watcher.watch({ key, startRevision: epoch + 1 }, this.#stop.signal);
    for await (const item of watch) {
      if (item.kind === 'events' && item.events.some((event) => event.kind === 'delete')) return this.#enter('gone');
      if (item.kind === 'compacted' && !(await this.#stillOurs(0))) return this.#enter('gone');
    }
  }
}

/** Whether the time has passed before the signal was aborted. */
async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(clock, ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw new TypeError(errorMessage(error), { cause: error });
  }
}
