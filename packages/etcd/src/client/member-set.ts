import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { EtcdError, isDefinite } from '../etcd-error.ts';
import type { CallOptions } from '../ports.ts';
import type { TlsSource } from '@gantry/tls';
import type { MemberConnection } from './member-connection.ts';

const DEFAULT_TIMEOUT_MS = 3000;

/** The members of a cluster. Calls go to the preferred one, which changes when it fails. */
export class MemberSet {
  readonly members: readonly MemberConnection[];
  readonly #unsubscribe: () => void;
  readonly #renewalListeners = new Set<() => void>();
  #preferred = 0;

  constructor(members: readonly MemberConnection[], tls: TlsSource | undefined, preferred: number) {
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

  /** Calls `listener` after all connections were replaced because certificates were renewed. */
  onRenewal(listener: () => void): () => void {
    this.#renewalListeners.add(listener);
    return () => this.#renewalListeners.delete(listener);
  }

  /** Prefers another member after a failure of this one. */
  moveOn(from: number): void {
    if (from % this.members.length === this.#preferred) this.#preferred = (from + 1) % this.members.length;
  }

  /** Calls one member after the other until one responds, or only the one in the options. */
  async read<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    payload: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const first = options.member ?? this.#preferred;
    const attempts = options.member === undefined ? this.members.length : 1;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.at(first + attempt).call(method, payload, { effect: 'read', ...limits(options) });
      } catch (error) {
        if (!(error instanceof EtcdError) || (isDefinite(error) && error.code !== 'busy')) throw error;
        if (options.member === undefined) this.moveOn(first + attempt);
        if (attempt + 1 >= attempts) throw error;
      }
    }
  }

  /** Calls one member once. */
  async write<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    payload: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const member = options.member ?? this.#preferred;
    try {
      return await this.at(member).call(method, payload, { effect: 'write', ...limits(options) });
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
