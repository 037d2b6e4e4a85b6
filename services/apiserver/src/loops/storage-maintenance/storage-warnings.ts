import { type Clock, formatTime } from '@gantry/base';
import type { MemberStatus } from '@gantry/etcd';
import type { Event, KubeObject } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { LoopbackClient } from '../../loopback-client.ts';
import { recordWarning, storageEvent, type StorageWarning } from '../warning-events.ts';

/** The share of the quota from which on a member is reported. */
const FULL_SHARE = 0.8;

/** An alarm in the status of a member, which lists those of all members. */
export interface StorageAlarm {
  /** Decimal. */
  readonly memberId: string;
  /** `NOSPACE`, `CORRUPT`. */
  readonly alarm: string;
}

/** The name of a member by its index, as its service is called. */
export const memberName = (index: number): string => `etcd-${index}`;

/** The alarms that any member reports, each once. A member's status has `memberID:10276657743932975437 alarm:NOSPACE `. */
export function alarmsOf(members: readonly (MemberStatus | undefined)[]): readonly StorageAlarm[] {
  const texts = new Set(members.flatMap((member) => member?.alarms ?? []));
  return [...texts].flatMap((text) => {
    const [, memberId, alarm] = /^memberID:(\d+) alarm:(\w+)/.exec(text) ?? [];
    return memberId === undefined || alarm === undefined ? [] : [{ memberId, alarm }];
  });
}

/** What is wrong with the space or the data of members. `members` has the statuses by index, and undefined for a silent member. */
export function findStorageWarnings(
  members: readonly (MemberStatus | undefined)[],
  quotaBytes: number,
): readonly StorageWarning[] {
  const nearlyFull = members.flatMap((member, index): StorageWarning[] => {
    if (member === undefined || member.dbSizeBytes < quotaBytes * FULL_SHARE) return [];
    const percent = Math.floor((member.dbSizeBytes / quotaBytes) * 100);
    const message = `uses ${percent} % of its quota of ${quotaBytes} bytes; when it is full, only deletes are accepted`;
    return [{ member: memberName(index), reason: 'EtcdNearlyFull', message }];
  });
  const alarms = alarmsOf(members).flatMap(({ memberId, alarm }): StorageWarning[] => {
    const index = members.findIndex((member) => member?.memberId === memberId);
    const member = index < 0 ? 'etcd' : memberName(index);
    switch (alarm) {
      case 'NOSPACE':
        return [
          { member, reason: 'EtcdNoSpace', message: 'has no space: only deletes are accepted until there is room' },
        ];
      case 'CORRUPT':
        return [
          { member, reason: 'EtcdCorrupt', message: 'has other data than the other members: restore a snapshot' },
        ];
      default:
        return [];
    }
  });
  return [...nearlyFull, ...alarms];
}

export interface StorageReporterOptions {
  readonly client: Pick<LoopbackClient, 'get' | 'create'>;
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Records an Event for each warning, once while it is stored. A full etcd stores no Event: it is kept, and recorded when there is room again.
 * Several apiservers may report the same warning, because the Event has the same name.
 */
export class StorageReporter {
  readonly #options: StorageReporterOptions;
  readonly #unrecorded = new Map<string, Event & KubeObject>();

  constructor(options: StorageReporterOptions) {
    this.#options = options;
  }

  async report(members: readonly (MemberStatus | undefined)[], signal: AbortSignal): Promise<void> {
    const { quotaBytes, clock } = this.#options;
    for (const warning of findStorageWarnings(members, quotaBytes)) {
      const event = storageEvent(warning, formatTime(clock.now()));
      const name = event.metadata.name ?? '';
      if (!this.#unrecorded.has(name)) this.#unrecorded.set(name, event);
    }
    for (const [name, event] of this.#unrecorded) {
      if ((await recordWarning(this.#options, event, signal)) === 'recorded') this.#unrecorded.delete(name);
    }
  }
}
