import { onAbort } from '@gantry/base';
import { create } from '@bufbuild/protobuf';
import { EtcdError } from '../etcd-error.ts';
import {
  Lease,
  LeaseKeepAliveRequestSchema,
  type LeaseKeepAliveResponse,
  type LeaseKeepAliveResponseSchema,
} from '../gen/rpc_pb.ts';
import type { MemberConnection, Stream as MemberStream } from './member-connection.ts';

/** A lease in etcd's form. */
export type WireLease = Pick<LeaseKeepAliveResponse, 'ID' | 'TTL' | 'header'>;

interface Waiting {
  readonly resolve: (answer: WireLease) => void;
  readonly reject: (error: Error) => void;
}

type Stream = MemberStream<typeof LeaseKeepAliveRequestSchema, typeof LeaseKeepAliveResponseSchema>;

/**
 * Renewals at one member over one stream, opened at first use and again after its end. An aborted renewal closes the stream:
 * otherwise a stuck renewal would block the next ones.
 */
export class RenewalStream {
  readonly #member: MemberConnection;
  /** Renewals without a response, by lease. Responses come in order, so the first of a lease is the oldest. */
  readonly #waiting = new Map<string, Waiting[]>();
  #stream: Stream | undefined;

  constructor(member: MemberConnection) {
    this.#member = member;
  }

  /** Renews once; rejects with the signal's reason when it is aborted first. */
  async renew(id: string, signal: AbortSignal): Promise<WireLease> {
    signal.throwIfAborted();
    const stream = (this.#stream ??= this.#open());
    const { promise, resolve, reject } = Promise.withResolvers<WireLease>();
    this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), { resolve, reject }]);
    using _ = onAbort(signal, () => {
      this.cut();
      reject(signal.reason);
    });
    stream.write(create(LeaseKeepAliveRequestSchema, { ID: BigInt(id) }));
    return await promise;
  }

  /** Closes the stream; open renewals fail, the next one opens another stream. */
  cut(): void {
    this.#stream?.cancel();
    this.#stream = undefined;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { reject } of waiting)
      reject(new EtcdError('unavailable', `renewals were cut (${this.#member.endpoint})`));
  }

  #open(): Stream {
    const stream = this.#member.stream(Lease.method.leaseKeepAlive);
    const ended = () => {
      if (this.#stream === stream) this.cut();
    };
    stream.on('data', (answer: LeaseKeepAliveResponse) => {
      const id = answer.ID.toString();
      const [first, ...rest] = this.#waiting.get(id) ?? [];
      if (rest.length > 0) this.#waiting.set(id, rest);
      else this.#waiting.delete(id);
      first?.resolve(answer);
    });
    for (const event of ['end', 'error', 'close']) stream.on(event, ended);
    return stream;
  }
}
