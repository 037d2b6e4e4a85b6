import { onAbort } from '@gantry/base';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { EtcdError } from '../etcd-error.ts';
import type { MemberConnection } from './member-connection.ts';

/** A lease in the vendor's JSON form. */
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
 * Renewals at one member over one stream, opened at first use and again after its end. An aborted renewal closes the stream:
 * otherwise a stuck renewal would block the next ones.
 */
export class RenewalStream {
  readonly #member: MemberConnection;
  /** Renewals without a response, by lease. Responses come in order, so the first of a lease is the oldest. */
  readonly #waiting = new Map<string, Waiting[]>();
  #stream: Promise<Stream> | undefined;
  /** The stream that `#stream` has opened. */
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
    using _ = onAbort(signal, () => {
      this.cut();
      reject(signal.reason);
    });
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
  }

  /** Closes the stream; open renewals fail, the next one opens another stream. */
  cut(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#current = undefined;
    stream?.then(
      (open) => open.cancel(),
      () => {}, // It never opened: its callers have been rejected.
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
