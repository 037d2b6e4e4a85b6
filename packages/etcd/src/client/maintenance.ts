import { isEtcdError } from '../etcd-error.ts';
import type { Maintenance } from '../ports.ts';
import type { MemberSet } from './member-set.ts';
import type { WireHeader } from './wire.ts';

interface WireStatus {
  readonly header: WireHeader;
  readonly version: string;
  readonly dbSize: string;
  readonly dbSizeInUse: string;
  readonly leader: string;
  readonly errors: readonly string[];
}

interface WireAlarms {
  readonly alarms: readonly { readonly memberID: string; readonly alarm: string }[];
}

/** Of calls that end when a member has worked through its file. */
const REWRITE_TIMEOUT_MS = 60_000;

/** Maintenance calls. Those about one member take it from the options. */
export function createMaintenance(members: MemberSet): Maintenance {
  return {
    async status(options) {
      const status = await members.read<WireStatus>({ service: 'Maintenance', method: 'status', payload: {} }, options);
      return {
        member: members.at(options.member ?? members.preferred).endpoint,
        version: status.version,
        memberId: status.header.member_id,
        leaderId: status.leader,
        revision: Number(status.header.revision),
        dbSizeBytes: Number(status.dbSize),
        dbSizeInUseBytes: Number(status.dbSizeInUse),
        alarms: status.errors,
      };
    },

    async compact(revision, options) {
      try {
        // Sent as a read is, to one member after the other: twice is the same as once.
        const payload = { revision, physical: options.member !== undefined };
        const timeoutMs = payload.physical ? REWRITE_TIMEOUT_MS : undefined;
        await members.read({ service: 'KV', method: 'compact', payload }, { timeoutMs, ...options });
      } catch (error) {
        if (!isEtcdError(error, 'compacted')) throw error;
      }
    },

    async defragment(options) {
      const call = { service: 'Maintenance', method: 'defragment', payload: {} } as const;
      await members.write(call, { timeoutMs: REWRITE_TIMEOUT_MS, ...options });
    },

    async disarm(options) {
      const ask = (payload: object) => ({ service: 'Maintenance', method: 'alarm', payload }) as const;
      const { alarms } = await members.read<WireAlarms>(ask({ action: 'Get' }), options);
      for (const { memberID, alarm } of alarms) {
        if (alarm === 'Nospace') await members.read(ask({ action: 'Deactivate', memberID, alarm }), options);
      }
    },
  };
}
