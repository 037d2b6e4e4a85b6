import { type Clock, withDeadline } from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import type { CallOptions, Lease, Leases } from '../ports.ts';
import type { MemberSet } from './member-set.ts';

interface WireLease {
  readonly ID: string;
  readonly TTL: string;
}

const DEFAULT_RENEWAL_TIMEOUT_MS = 500;

/** Leases of a cluster. Renewals go over a stream, as etcd has it, opened for one renewal: a stuck one never holds up the next. */
export function createLeases(members: MemberSet, clock: Clock): Leases {
  return {
    async grant(ttlMs, options) {
      const payload = { TTL: Math.ceil(ttlMs / 1000) };
      return toLease(await members.write<WireLease>({ service: 'Lease', method: 'leaseGrant', payload }, options));
    },

    keepAlive: (id, options) => keepAlive(members, clock, id, options),

    async revoke(id, options) {
      try {
        await members.write({ service: 'Lease', method: 'leaseRevoke', payload: { ID: id } }, options);
      } catch (error) {
        if (!isEtcdError(error, 'lease-gone')) throw error;
      }
    },
  };
}

async function keepAlive(members: MemberSet, clock: Clock, id: string, options: CallOptions): Promise<Lease> {
  const member = options.member ?? members.preferred;
  using deadline = withDeadline(clock, options.signal, options.timeoutMs ?? DEFAULT_RENEWAL_TIMEOUT_MS);
  const stream = await members.at(member).stream<WireLease>('Lease', 'leaseKeepAlive');
  const cancel = () => stream.cancel();
  deadline.addEventListener('abort', cancel, { once: true });
  try {
    stream.write({ ID: id });
    for await (const answer of stream as AsyncIterable<WireLease>) {
      if (Number(answer.TTL) <= 0) throw new EtcdError('lease-gone', `lease ${id} has run out or was revoked`);
      return toLease(answer);
    }
    throw new EtcdError('unavailable', `no answer to the renewal of lease ${id}`);
  } catch (error) {
    options.signal.throwIfAborted();
    if (options.member === undefined && !isEtcdError(error, 'lease-gone')) members.moveOn(member);
    throw error instanceof EtcdError
      ? error
      : new EtcdError('unavailable', `lease ${id} was not renewed (${members.at(member).endpoint})`, { cause: error });
  } finally {
    deadline.removeEventListener('abort', cancel);
    stream.cancel();
  }
}

function toLease(wire: WireLease): Lease {
  return { id: wire.ID, ttlMs: Number(wire.TTL) * 1000 };
}
