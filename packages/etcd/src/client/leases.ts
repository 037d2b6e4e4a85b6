import { type Clock, withDeadline } from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import { Lease as Wire } from '../gen/rpc_pb.ts';
import type { CallOptions, Lease, Leases } from '../ports.ts';
import type { MemberSet } from './member-set.ts';
import { RenewalStream, type WireLease } from './renewal-stream.ts';

const DEFAULT_RENEWAL_TIMEOUT_MS = 500;

/** Leases of a cluster. */
export function createLeases(members: MemberSet, clock: Clock): Leases {
  const streams = members.members.map((member) => new RenewalStream(member));
  members.onRenewal(() => {
    for (const stream of streams) stream.cut();
  });

  const keepAlive = async (id: string, options: CallOptions): Promise<Lease> => {
    const member = options.member ?? members.preferred;
    using deadline = withDeadline(clock, options.signal, options.timeoutMs ?? DEFAULT_RENEWAL_TIMEOUT_MS);
    let response: WireLease | undefined;
    try {
      response = await streams[member % streams.length]?.renew(id, deadline);
    } catch (error) {
      options.signal.throwIfAborted();
      if (options.member === undefined) members.moveOn(member);
      if (error instanceof EtcdError) throw error;
      const { endpoint } = members.at(member);
      throw new EtcdError('unavailable', `lease ${id} was not renewed (${endpoint})`, { cause: error });
    }
    if (response === undefined || Number(response.TTL) <= 0) {
      throw new EtcdError('lease-gone', `lease ${id} has expired or was revoked`);
    }
    return toLease(response);
  };

  return {
    async grant(ttlMs, options) {
      const payload = { TTL: BigInt(Math.ceil(ttlMs / 1000)) };
      return toLease(await members.write(Wire.method.leaseGrant, payload, options));
    },

    keepAlive,

    async revoke(id, options) {
      try {
        await members.write(Wire.method.leaseRevoke, { ID: BigInt(id) }, options);
      } catch (error) {
        if (!isEtcdError(error, 'lease-gone')) throw error;
      }
    },
  };
}

function toLease(wire: WireLease): Lease {
  return { id: wire.ID.toString(), ttlMs: Number(wire.TTL) * 1000, raftTerm: Number(wire.header?.raftTerm ?? 0n) };
}
