import type { KeyValue, MemberStatus } from '@gantry/etcd';
import { COMMIT_ROOT } from '../../storage/keys.ts';

/** The state that a maintenance round observes. Rounds run every five minutes, and more often while etcd is full or crowded (`RoundSchedule`). */
export interface ObservedStore {
  readonly revision: number;
  /** The revision up to which history may go; undefined while an owner has not seen one that is old enough. */
  readonly previousRevision: number | undefined;
  /** The status by index of the member; undefined for a member that does not respond. */
  readonly members: readonly (MemberStatus | undefined)[];
  /** Keys under the commit root, without values. */
  readonly commitKeys: readonly KeyValue[];
  /** Records of fenced deletions, without values. */
  readonly deletionRecords: readonly KeyValue[];
}

export type MaintenanceAction =
  /** With `member`: waits until that member has removed the history from its file. */
  | { readonly kind: 'compact'; readonly revision: number; readonly member?: number }
  | { readonly kind: 'remove-keys'; readonly keys: readonly GuardedKey[] }
  | { readonly kind: 'defragment'; readonly member: number }
  /** Allows writes again after NOSPACE. */
  | { readonly kind: 'disarm' };

/** A key to remove if its mod revision is unchanged and `absentKey` does not exist. A lane's `absentKey` exists while its process lives. */
export interface GuardedKey {
  readonly key: string;
  readonly modRevision: number;
  readonly absentKey?: string;
}

/**
 * A member is defragmented if its file has more unused space than both limits. Only one member per round, since a member does not respond
 * while it is defragmented.
 */
const WORTH_BYTES = 100 * 1024 * 1024;
const WORTH_SHARE = 0.5;

/**
 * The share of the quota in use from which on history goes before its time. In a burst of writes it would fill the quota otherwise, and until
 * then the memory of each member.
 */
const CROWDED_SHARE = 0.5;

/** Whether a member has so much in use that history has to go before its time. */
export function isCrowded({ dbSizeInUseBytes }: MemberStatus, quotaBytes: number): boolean {
  return dbSizeInUseBytes > CROWDED_SHARE * quotaBytes;
}

/** The newest revision at a look at the members, and its time on the monotonic clock. */
export interface RoundMark {
  readonly revision: number;
  readonly atMs: number;
}

/**
 * The mark up to which history may go, so that what is younger than `keepMs` stays, and the marks to keep. `toleranceMs` is for rounds that
 * begin a little early: else the history of one more look would stay.
 */
export function compactionMark(
  marks: readonly RoundMark[],
  nowMs: number,
  { keepMs, toleranceMs }: { readonly keepMs: number; readonly toleranceMs: number },
): { readonly revision: number | undefined; readonly kept: readonly RoundMark[] } {
  const at = marks.findLastIndex(({ atMs }) => nowMs - atMs >= keepMs - toleranceMs);
  return { revision: marks[at]?.revision, kept: marks.slice(at + 1) };
}

/** Decides when the owner of maintenance runs a round. Times are in milliseconds of the monotonic clock. */
export class RoundSchedule {
  readonly #intervalMs: number;
  readonly #fullCheckMs: number;
  #dueMs: number;
  #earlyDueMs = -Infinity;
  #restMs: number;

  /** The first round is due one interval after `nowMs`. */
  constructor(intervalMs: number, fullCheckMs: number, nowMs: number) {
    this.#intervalMs = intervalMs;
    this.#fullCheckMs = fullCheckMs;
    this.#dueMs = nowMs + intervalMs;
    this.#restMs = fullCheckMs;
  }

  /**
   * Whether a round is due: one interval after the last round, or earlier while etcd is full or crowded. If a round did not free space, the
   * delay before the next one doubles, up to the interval: rounds do not help while live objects fill etcd, and members do not respond in
   * them.
   */
  isDue(nowMs: number, isPressed: boolean): boolean {
    const isEarly = isPressed && nowMs >= this.#earlyDueMs;
    if (nowMs < this.#dueMs && !isEarly) return false;
    this.#dueMs = nowMs + this.#intervalMs;
    this.#earlyDueMs = isPressed ? nowMs + this.#restMs : nowMs;
    this.#restMs = isPressed ? Math.min(2 * this.#restMs, this.#intervalMs) : this.#fullCheckMs;
    return true;
  }
}

/**
 * Plans the removal of history, of the lanes of dead processes and of old deletion records, and the defragmentation of members. Unless
 * etcd is full, the history of at least one round is kept for watches that resume. Removing a lane is safe at any time: its groups
 * compare a mod revision, which never recurs.
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
 * One compaction per member that responds. Only the called member waits until its own file is free of the history, and defragmentation
 * before that does not shrink the file. etcd rejects a revision that is already compacted, so each compaction uses the next revision.
 */
function compactionsByMember({ revision, members }: ObservedStore): readonly MaintenanceAction[] {
  const present = members.flatMap((member, index) => (member === undefined ? [] : [index]));
  return present
    .map((member, index) => ({ kind: 'compact', revision: revision - (present.length - 1 - index), member }) as const)
    .filter((action) => action.revision > 0);
}

/** Whether a member reports that any member has no space left. etcd rejects every put then. */
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

/** A member does not respond while it is defragmented. So none is defragmented while another is down, unless etcd is full. */
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
