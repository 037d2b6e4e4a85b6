import { describe, expect, test } from 'vitest';
import { fencedWrites, type HistoryEvent, staleWrites } from './etcd-history.ts';

const ELECTION = '/gantry/elections/kube-scheduler';

function stored(epoch: number, electionKey = ELECTION): Buffer {
  const head = Buffer.alloc(30);
  head.writeBigUInt64BE(BigInt(epoch), 22);
  const texts = ['system:kube-scheduler', electionKey, ''].map((text) =>
    Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]),
  );
  return Buffer.concat([head, ...texts, Buffer.from('{}')]);
}

function put(key: string, modRevision: number, value: Buffer = Buffer.alloc(0)): HistoryEvent {
  return { type: 'put', key, value, createRevision: modRevision, modRevision };
}

const gone = (key: string, modRevision: number): HistoryEvent => ({
  type: 'delete',
  key,
  value: Buffer.alloc(0),
  createRevision: 0,
  modRevision,
});

describe('staleWrites', () => {
  test('writes inside their epoch are none', () => {
    const history = [
      put(ELECTION, 10),
      put('/registry/pods/a/x', 11, stored(10)),
      gone(ELECTION, 12),
      put(ELECTION, 13),
      put('/registry/pods/a/y', 14, stored(13)),
    ];
    expect(fencedWrites(history)).toHaveLength(2);
    expect(staleWrites(history, new Map())).toEqual([]);
  });

  test('a write of an epoch that is over is found', () => {
    const history = [
      put(ELECTION, 10),
      gone(ELECTION, 12),
      put(ELECTION, 13),
      put('/registry/pods/a/y', 14, stored(10)),
    ];
    expect(staleWrites(history, new Map())).toMatchObject([{ key: '/registry/pods/a/y', revision: 14, epoch: 10 }]);
  });

  test('a write without a leader is found, a deletion by its record', () => {
    const record = Buffer.from(JSON.stringify({ electionKey: ELECTION, epoch: 10 }));
    const history = [gone(ELECTION, 12), put('/gantry/deleted/x', 13, record)];
    expect(staleWrites(history, new Map([[ELECTION, 10]]))).toMatchObject([{ revision: 13, epoch: 10 }]);
  });

  test('writes without a fence are not looked at', () => {
    expect(fencedWrites([put('/registry/pods/a/y', 13, stored(0, ''))])).toEqual([]);
  });
});
