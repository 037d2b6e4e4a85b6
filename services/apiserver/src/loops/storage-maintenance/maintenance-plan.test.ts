import type { KeyValue, MemberStatus } from '@gantry/etcd';
import { describe, expect, it } from 'vitest';
import {
  compactionMark,
  isCrowded,
  type ObservedStore,
  planMaintenance,
  type RoundMark,
  RoundSchedule,
} from './maintenance-plan.ts';

const MIB = 1024 * 1024;

const key = (name: string, modRevision: number): KeyValue => ({
  key: name,
  value: new Uint8Array(),
  createRevision: modRevision,
  modRevision,
  lease: '0',
});

const member = (sizeMib: number, inUseMib: number, alarms: readonly string[] = []): MemberStatus => ({
  member: 'm',
  version: '3.5.30',
  memberId: '1',
  leaderId: '1',
  revision: 500,
  raftTerm: 2,
  raftIndex: 900,
  raftAppliedIndex: 900,
  dbSizeBytes: sizeMib * MIB,
  dbSizeInUseBytes: inUseMib * MIB,
  alarms,
});

const observed = (changes: Partial<ObservedStore> = {}): ObservedStore => ({
  revision: 500,
  previousRevision: 300,
  members: [member(10, 5)],
  commitKeys: [],
  deletionRecords: [],
  ...changes,
});

describe('maintenance', () => {
  it('forgets history of before the last round, and nothing in its first', () => {
    expect(planMaintenance(observed())).toEqual([{ kind: 'compact', revision: 300 }]);
    expect(planMaintenance(observed({ previousRevision: undefined }))).toEqual([]);
  });

  it('removes the lanes of processes that hold no lease, unless they hold one by then', () => {
    const commitKeys = [
      key('/gantry/commit/dead/0', 7),
      key('/gantry/commit/living/0', 8),
      key('/gantry/commit/living/alive', 9),
    ];
    const [removal] = planMaintenance(observed({ commitKeys }));
    const absentKey = '/gantry/commit/dead/alive';
    expect(removal).toEqual({
      kind: 'remove-keys',
      keys: [{ key: '/gantry/commit/dead/0', modRevision: 7, absentKey }],
    });
  });

  it('removes records of deletions that history has forgotten', () => {
    const deletionRecords = [
      key('/gantry/deleted/registry/pods/a/b', 299),
      key('/gantry/deleted/registry/pods/a/c', 300),
    ];
    const [removal] = planMaintenance(observed({ deletionRecords }));
    expect(removal).toEqual({
      kind: 'remove-keys',
      keys: [{ key: '/gantry/deleted/registry/pods/a/b', modRevision: 299 }],
    });
  });

  it('defragments the member with most to give back, one a round', () => {
    const members = [member(400, 100), member(500, 100), member(120, 100)];
    expect(planMaintenance(observed({ members }))).toContainEqual({ kind: 'defragment', member: 1 });
    expect(planMaintenance(observed({ members: [member(150, 100)] }))).toHaveLength(1);
  });

  it('defragments nothing while a member is down, since the cluster would lose its quorum', () => {
    const members = [member(400, 100), undefined, member(120, 100)];
    expect(planMaintenance(observed({ members }))).toEqual([{ kind: 'compact', revision: 300 }]);
  });

  it('makes room in the members that respond when one is down', () => {
    const members = [member(100, 90, ['memberID:1 alarm:NOSPACE ']), undefined, member(100, 90)];
    expect(planMaintenance(observed({ members }))).toEqual([
      { kind: 'compact', revision: 499, member: 0 },
      { kind: 'compact', revision: 500, member: 2 },
      { kind: 'defragment', member: 0 },
      { kind: 'defragment', member: 2 },
      { kind: 'disarm' },
    ]);
  });

  it('makes room at once when there is no space left, and allows writes again', () => {
    const members = [member(100, 90, ['memberID:1 alarm:NOSPACE ']), member(100, 90)];
    expect(planMaintenance(observed({ members }))).toEqual([
      { kind: 'compact', revision: 499, member: 0 },
      { kind: 'compact', revision: 500, member: 1 },
      { kind: 'defragment', member: 0 },
      { kind: 'defragment', member: 1 },
      { kind: 'disarm' },
    ]);
  });
});

it.each([
  [500, false],
  [513, true],
])('a member with %i MiB of a quota of 1 GiB in use: crowded is %s', (inUseMib, crowded) => {
  expect(isCrowded(member(1000, inUseMib), 1024 * MIB)).toBe(crowded);
});

describe('rounds', () => {
  /** The times of rounds in seconds, with a check every 30 seconds. `isFull` says at which times etcd is full. */
  const rounds = (untilS: number, isFull: (atS: number) => boolean): readonly number[] => {
    const schedule = new RoundSchedule(300_000, 30_000, 0);
    const looks = Array.from({ length: untilS / 30 }, (_, i) => 30 * (i + 1));
    return looks.filter((atS) => schedule.isDue(1000 * atS, isFull(atS)));
  };

  it('are five minutes apart', () => {
    expect(rounds(1200, () => false)).toEqual([300, 600, 900, 1200]);
  });

  it('do not wait while etcd is full', () => {
    expect(rounds(600, (atS) => atS === 120)).toEqual([120, 420]);
  });

  it('that do not help are repeated less and less often', () => {
    expect(rounds(1500, () => true)).toEqual([30, 60, 120, 240, 480, 780, 1080, 1380]);
  });
});

it('history is kept for as long as is asked for, and no mark is kept longer than needed', () => {
  const MINUTE = 60_000;
  const keep = { keepMs: 15 * MINUTE, toleranceMs: 30_000 };
  let marks: readonly RoundMark[] = [];
  const compacted: (number | undefined)[] = [];
  for (let minute = 0; minute <= 60; minute += 5) {
    const { revision, kept } = compactionMark(marks, minute * MINUTE, keep);
    compacted.push(revision);
    expect(kept.length).toBeLessThanOrEqual(3);
    marks = [...kept, { revision: minute, atMs: minute * MINUTE - 100 }];
  }
  expect(compacted).toEqual([undefined, undefined, undefined, 0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
});

it('by default the history of one round is kept, also when a round begins a little early', () => {
  const keep = { keepMs: 300_000, toleranceMs: 30_000 };
  const marks = [{ revision: 7, atMs: 1_000_000 }];
  expect(compactionMark(marks, 1_299_990, keep)).toEqual({ revision: 7, kept: [] });
  expect(compactionMark(marks, 1_200_000, keep)).toEqual({ revision: undefined, kept: marks });
});
