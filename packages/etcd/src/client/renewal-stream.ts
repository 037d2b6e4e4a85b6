import type { ClientDuplexStream } from '@grpc/grpc-js';
import { EtcdError } from '../etcd-error.ts';
import type { MemberConnection } from './member-connection.ts';

export interface WireLease {
  readonly ID: string;
  readonly TTL: string;
}

interface Waiting {
  readonly resolve: (answer: WireLease) => void;
  readonly reject: (error: Error) => void;
}

type Stream = ClientDuplexStream<object, WireLease>;

/**
 * Renewals at one member over one open stream, opened when first used and again after it has ended. A renewal that is aborted cuts the
 * stream, since what is stuck in front would hold up the next.
 */
export class RenewalStream {
  readonly #member: MemberConnection;
  /** Renewals without an answer by lease: answers come in order, so the first of a lease is the oldest. */
  readonly #waiting = new Map<string, Waiting[]>();
  #stream: Promise<Stream> | undefined;
  /** What `#stream` has opened. */
  #current: Stream | undefined;

  constructor(member: MemberConnection) {
    this.#member = member;
  }

  /** Renews once; rejects with the signal's reason when it is aborted first. */
  async renew(id: string, signal: AbortSignal): Promise<WireLease> {
    signal.throwIfAborted();
    const opened = (this.#stream ??= this.#open());
    const { promise, resolve, reject } = Promise.withResolvers<WireLease>();
    const waiting: Waiting = { resolve, reject };
    this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), waiting]);
    const onAbort = () => {
      this.cut();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      opened.then(
        (stream) => {
          if (this.#stream === opened) this.#current = stream;
          stream.write({ ID: id });
        },
        (error: Error) => {
          if (this.#stream === opened) this.cut();
          reject(error);
        },
      );
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the stream; renewals under way fail, the next one opens another. */
  cut(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#current = undefined;
    stream?.then(
      (open) => open.cancel(),
      () => {}, // It never opened: who waited for it has been told.
    );
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { reject } of waiting)
      reject(new EtcdError('unavailable', `renewals were cut (${this.#member.endpoint})`));
  }

  async #open(): Promise<Stream> {
    const stream = await this.#member.stream<WireLease>('Lease', 'leaseKeepAlive');
    const ended = () => {
      if (this.#current === stream) this.cut();
    };
    stream.on('data', (answer: WireLease) => {
      const [first, ...rest] = this.#waiting.get(answer.ID) ?? [];
      if (rest.length > 0) this.#waiting.set(answer.ID, rest);
      else this.#waiting.delete(answer.ID);
      first?.resolve(answer);
    });
    for (const event of ['end', 'error', 'close']) stream.on(event, ended);
    return stream;
  }
}
