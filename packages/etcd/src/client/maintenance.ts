import { isEtcdError } from '../etcd-error.ts';
import { AlarmRequest_AlarmAction, AlarmType, KV, Maintenance as Wire } from '../gen/rpc_pb.ts';
import type { Maintenance } from '../ports.ts';
import type { MemberSet } from './member-set.ts';
import { revisionOf } from './wire.ts';

/** For calls that end only after a member has rewritten its file. */
const REWRITE_TIMEOUT_MS = 60_000;
const SNAPSHOT_TIMEOUT_MS = 600_000;

/** Maintenance calls. Calls about one member take its index from the options. */
export function createMaintenance(members: MemberSet): Maintenance {
  return {
    async status(options) {
      const status = await members.read(Wire.method.status, {}, options);
      return {
        member: members.at(options.member ?? members.preferred).endpoint,
        version: status.version,
        memberId: String(status.header?.memberId ?? 0),
        leaderId: String(status.leader),
        revision: revisionOf(status),
        raftTerm: Number(status.raftTerm),
        raftIndex: Number(status.raftIndex),
        raftAppliedIndex: Number(status.raftAppliedIndex),
        dbSizeBytes: Number(status.dbSize),
        dbSizeInUseBytes: Number(status.dbSizeInUse),
        alarms: status.errors,
      };
    },

    async compact(revision, options) {
      try {
        // Sent as a read is, to one member after the other: twice is the same as once.
        const payload = { revision: BigInt(revision), physical: options.member !== undefined };
        const timeoutMs = payload.physical ? REWRITE_TIMEOUT_MS : undefined;
        await members.read(KV.method.compact, payload, { timeoutMs, ...options });
      } catch (error) {
        if (!isEtcdError(error, 'compacted')) throw error;
      }
    },

    async defragment(options) {
      await members.write(Wire.method.defragment, {}, { timeoutMs: REWRITE_TIMEOUT_MS, ...options });
    },

    async *snapshot(options) {
      const member = members.at(options.member ?? members.preferred);
      const { signal, timeoutMs = SNAPSHOT_TIMEOUT_MS } = options;
      for await (const { blob, remainingBytes } of member.download(Wire.method.snapshot, {}, { signal, timeoutMs })) {
        yield { bytes: blob, remainingBytes: Number(remainingBytes) };
      }
    },

    async disarm(options) {
      const { alarm: ask } = Wire.method;
      const { alarms } = await members.read(ask, { action: AlarmRequest_AlarmAction.Get }, options);
      for (const { memberID, alarm } of alarms) {
        const disarmed = { action: AlarmRequest_AlarmAction.Deactivate, memberID, alarm };
        if (alarm === AlarmType.Nospace) await members.read(ask, disarmed, options);
      }
    },
  };
}
