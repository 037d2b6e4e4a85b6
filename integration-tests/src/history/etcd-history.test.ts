import { describe, expect, test } from 'vitest';
import { checkFencing, type HistoryEvent, parseWatchLine } from './etcd-history.ts';

const ELECTION = '/gantry/elections/kube-scheduler';

function stored(epoch: number, electionKey = ELECTION, writer = 'system:kube-scheduler'): Uint8Array {
  const head = Buffer.alloc(30);
  head.writeBigUInt64BE(BigInt(epoch), 22);
  return Buffer.concat([
    head,
    Buffer.from([writer.length]),
    Buffer.from(writer),
    Buffer.from([electionKey.length]),
    Buffer.from(electionKey),
    Buffer.from([0]),
    Buffer.from('{}'),
  ]);
}

const put = (
  key: string,
  modRevision: number,
  value: Uint8Array = new Uint8Array(),
  createRevision = modRevision,
): HistoryEvent => ({ kind: 'put', key, value, createRevision, modRevision });
const gone = (key: string, modRevision: number): HistoryEvent => ({
  kind: 'delete',
  key,
  value: new Uint8Array(),
  createRevision: 0,
  modRevision,
});

describe('checkFencing', () => {
  test('writes inside their epoch are in order', () => {
    const report = checkFencing(
      [
        put(ELECTION, 10),
        put('/registry/pods/a/x', 11, stored(10)),
        gone(ELECTION, 12),
        put(ELECTION, 13),
        put('/registry/pods/a/y', 14, stored(13)),
      ],
      new Map(),
    );
    expect(report.staleWrites).toEqual([]);
    expect(report.checked).toBe(2);
    expect(report.epochs.get(ELECTION)).toEqual([10, 13]);
  });

  test('a write of an epoch that is over is found', () => {
    const report = checkFencing(
      [put(ELECTION, 10), gone(ELECTION, 12), put(ELECTION, 13), put('/registry/pods/a/y', 14, stored(10))],
      new Map(),
    );
    expect(report.staleWrites).toEqual([
      { key: '/registry/pods/a/y', revision: 14, electionKey: ELECTION, epoch: 10, held: 13 },
    ]);
  });

  test('a write while nobody leads is found', () => {
    const report = checkFencing(
      [gone(ELECTION, 12), put('/registry/pods/a/y', 13, stored(10))],
      new Map([[ELECTION, 10]]),
    );
    expect(report.staleWrites).toMatchObject([{ epoch: 10, held: undefined }]);
  });

  test('writes without a fence are not looked at', () => {
    expect(checkFencing([put('/registry/pods/a/y', 13, stored(0, ''))], new Map())).toMatchObject({
      checked: 0,
      staleWrites: [],
    });
  });
});

test('a line of etcdctl becomes events', () => {
  const line = JSON.stringify({
    Events: [
      {
        kv: {
          key: Buffer.from('/a').toString('base64'),
          create_revision: 2,
          mod_revision: 3,
          value: Buffer.from('v').toString('base64'),
        },
      },
      { type: 1, kv: { key: Buffer.from('/b').toString('base64'), mod_revision: 4 } },
    ],
  });
  expect(parseWatchLine(line)).toEqual([
    { kind: 'put', key: '/a', value: Buffer.from('v'), createRevision: 2, modRevision: 3 },
    { kind: 'delete', key: '/b', value: Buffer.from(''), createRevision: 0, modRevision: 4 },
  ]);
});
