import { EtcdError, isDefinite } from '../etcd-error.ts';
import type { CallOptions } from '../ports.ts';
import type { EtcdTls, MemberConnection, UnaryCall } from './member-connection.ts';

const DEFAULT_TIMEOUT_MS = 3000;

/** The members of a cluster, and which of them is asked next. */
export class MemberSet {
  readonly members: readonly MemberConnection[];
  readonly #unsubscribe: () => void;
  readonly #renewalListeners = new Set<() => void>();
  #preferred = 0;

  constructor(members: readonly MemberConnection[], tls: EtcdTls | undefined, preferred: number) {
    this.members = members;
    this.#preferred = preferred;
    this.#unsubscribe =
      tls?.subscribe((material) => {
        for (const member of members) member.useTls(material);
        for (const listener of [...this.#renewalListeners]) listener();
      }) ?? (() => {});
  }

  /** Index of the member that worked last. */
  get preferred(): number {
    return this.#preferred;
  }

  at(index: number): MemberConnection {
    const member = this.members[index % this.members.length];
    if (member === undefined) throw new EtcdError('invalid', 'no etcd members are configured');
    return member;
  }

  /** Calls `listener` when connections were made anew with renewed certificates. */
  onRenewal(listener: () => void): () => void {
    this.#renewalListeners.add(listener);
    return () => this.#renewalListeners.delete(listener);
  }

  /** The preferred member has failed: others are asked from now on. */
  moveOn(from: number): void {
    if (from % this.members.length === this.#preferred) this.#preferred = (from + 1) % this.members.length;
  }

  /** Asks one member after the other until one answers, or only the one that the options name. */
  async read<T>(call: Omit<UnaryCall, 'effect' | 'signal' | 'timeoutMs'>, options: CallOptions): Promise<T> {
    const first = options.member ?? this.#preferred;
    const attempts = options.member === undefined ? this.members.length : 1;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.at(first + attempt).call<T>({ ...call, effect: 'read', ...limits(options) });
      } catch (error) {
        if (!(error instanceof EtcdError) || (isDefinite(error) && error.code !== 'busy')) throw error;
        if (options.member === undefined) this.moveOn(first + attempt);
        if (attempt + 1 >= attempts) throw error;
      }
    }
  }

  /** Asks one member once. */
  async write<T>(call: Omit<UnaryCall, 'effect' | 'signal' | 'timeoutMs'>, options: CallOptions): Promise<T> {
    const member = options.member ?? this.#preferred;
    try {
      return await this.at(member).call<T>({ ...call, effect: 'write', ...limits(options) });
    } catch (error) {
      if (error instanceof EtcdError && !isDefinite(error) && options.member === undefined) this.moveOn(member);
      throw error;
    }
  }

  close(): void {
    this.#unsubscribe();
    for (const member of this.members) member.close();
  }
}

function limits(options: CallOptions): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  return { signal: options.signal, timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS };
}
