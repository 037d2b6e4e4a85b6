import type { KeyValue, MemberStatus } from '@gantry/etcd';
import { COMMIT_ROOT } from '../../storage/keys.ts';

/** What the owner of maintenance sees in each round: every five minutes, and more often while etcd is full (`RoundSchedule`). */
export interface ObservedStore {
  readonly revision: number;
  /** The revision of the round before; undefined in an owner's first. */
  readonly previousRevision: number | undefined;
  /** By the member's index; undefined for one that does not respond. */
  readonly members: readonly (MemberStatus | undefined)[];
  /** Keys under the commit root, without values. */
  readonly commitKeys: readonly KeyValue[];
  /** Records of fenced deletions, without values. */
  readonly deletionRecords: readonly KeyValue[];
}

export type MaintenanceAction =
  /** With `member`: until that member has removed the history from its file. */
  | { readonly kind: 'compact'; readonly revision: number; readonly member?: number }
  | { readonly kind: 'remove-keys'; readonly keys: readonly GuardedKey[] }
  | { readonly kind: 'defragment'; readonly member: number }
  /** Allows writes again after NOSPACE. */
  | { readonly kind: 'disarm' };

/** A key to remove if it still is what was seen and, for a lane, if its process still holds no lease. */
export interface GuardedKey {
  readonly key: string;
  readonly modRevision: number;
  readonly absentKey?: string;
}

/** Members whose file is mostly air, and much of it, are defragmented: one a round, since one that is answers nothing. */
const WORTH_BYTES = 100 * 1024 * 1024;
const WORTH_SHARE = 0.5;

/** When the owner of maintenance does a round; times in milliseconds, monotonic. */
export class RoundSchedule {
  readonly #intervalMs: number;
  readonly #fullCheckMs: number;
  #dueMs: number;
  #earlyDueMs = -Infinity;
  #restMs: number;

  /** The first round is due an interval from now. */
  constructor(intervalMs: number, fullCheckMs: number, nowMs: number) {
    this.#intervalMs = intervalMs;
    this.#fullCheckMs = fullCheckMs;
    this.#dueMs = nowMs + intervalMs;
    this.#restMs = fullCheckMs;
  }

  /**
   * Whether a round is due: an interval after the last one, and while etcd is full earlier. Rounds that did not help are repeated after
   * twice the time, up to the interval: an etcd that is full of live objects only loses its members' answers by them.
   */
  isDue(nowMs: number, isFull: boolean): boolean {
    const isEarly = isFull && nowMs >= this.#earlyDueMs;
    if (nowMs < this.#dueMs && !isEarly) return false;
    this.#dueMs = nowMs + this.#intervalMs;
    this.#earlyDueMs = isFull ? nowMs + this.#restMs : nowMs;
    this.#restMs = isFull ? Math.min(2 * this.#restMs, this.#intervalMs) : this.#fullCheckMs;
    return true;
  }
}

/**
 * What to do about history, dead processes' lanes, old deletion records and the members' files. History of at least one round is kept,
 * for watches that resume. Removing a lane is safe at any time: its groups compare a mod revision that never recurs.
 */
export function planMaintenance(observed: ObservedStore): readonly MaintenanceAction[] {
  const { previousRevision, members } = observed;
  const full = members.some((member) => member !== undefined && isFull(member));
  const horizon = full ? observed.revision : previousRevision;
  const keys = [...deadLanes(observed.commitKeys), ...oldRecords(observed.deletionRecords, horizon)];
  return [
    ...(keys.length === 0 ? [] : [{ kind: 'remove-keys', keys } as const]),
    ...(full ? compactionsByMember(observed) : compaction(previousRevision)),
    ...membersToDefragment(members, full).map((member) => ({ kind: 'defragment', member }) as const),
    ...(full ? [{ kind: 'disarm' } as const] : []),
  ];
}

function compaction(revision: number | undefined): readonly MaintenanceAction[] {
  return revision === undefined || revision === 0 ? [] : [{ kind: 'compact', revision }];
}

/**
 * One compaction by each member that responds, since only the member that is called can say when its own file is free of the
 * history: what is defragmented before stays as large as it was. etcd refuses a revision that is compacted already, so each
 * takes the next one.
 */
function compactionsByMember({ revision, members }: ObservedStore): readonly MaintenanceAction[] {
  const present = members.flatMap((member, index) => (member === undefined ? [] : [index]));
  return present
    .map((member, index) => ({ kind: 'compact', revision: revision - (present.length - 1 - index), member }) as const)
    .filter((action) => action.revision > 0);
}

/** Whether a member reports that some member of the cluster has run out of space: then etcd refuses every put. */
export function isFull({ alarms }: MemberStatus): boolean {
  return alarms.some((alarm) => alarm.includes('NOSPACE'));
}

function deadLanes(keys: readonly KeyValue[]): readonly GuardedKey[] {
  const present = new Set(keys.map(({ key }) => key));
  return keys.flatMap(({ key, modRevision }) => {
    const process = key.slice(COMMIT_ROOT.length, key.lastIndexOf('/'));
    const absentKey = `${COMMIT_ROOT}${process}/alive`;
    return key === absentKey || present.has(absentKey) ? [] : [{ key, modRevision, absentKey }];
  });
}

function oldRecords(records: readonly KeyValue[], horizon: number | undefined): readonly GuardedKey[] {
  if (horizon === undefined) return [];
  return records
    .filter(({ modRevision }) => modRevision < horizon)
    .map(({ key, modRevision }) => ({ key, modRevision }));
}

/** A member does not respond while it is defragmented: without a full store, none is while another is down. */
function membersToDefragment(members: readonly (MemberStatus | undefined)[], full: boolean): readonly number[] {
  const present = members.flatMap((member, index) => (member === undefined ? [] : [{ member, index }]));
  if (full) return present.map(({ index }) => index);
  if (present.length < members.length) return [];
  const wasted = present.map(({ member: { dbSizeBytes, dbSizeInUseBytes }, index }) => ({
    index,
    bytes: dbSizeBytes - dbSizeInUseBytes,
    share: dbSizeBytes === 0 ? 0 : 1 - dbSizeInUseBytes / dbSizeBytes,
  }));
  const worst = wasted
    .filter(({ bytes, share }) => bytes > WORTH_BYTES && share > WORTH_SHARE)
    .sort((a, b) => b.bytes - a.bytes)[0];
  return worst === undefined ? [] : [worst.index];
}
