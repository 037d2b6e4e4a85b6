import { describe, expect, test } from 'vitest';
import type { EtcdEvent } from './artifacts.ts';
import { checkFences } from './check-fences.ts';
import { encodeStored } from './testing/encode-stored.ts';

const ELECTION = '/gantry/elections/kube-scheduler';

const put = (key: string, modRevision: number, value: Buffer = Buffer.alloc(0)): EtcdEvent => ({
  type: 'put',
  key,
  value: value.toString('base64'),
  createRevision: modRevision,
  modRevision,
  version: 1,
});
const gone = (key: string, modRevision: number): EtcdEvent => ({ type: 'delete', key, modRevision });
const stored = (epoch: number, electionKey = ELECTION) => encodeStored({}, { epoch, electionKey });

describe('checkFences', () => {
  test('accepts writes inside their epoch', () => {
    const events = [
      put(ELECTION, 10),
      put('/registry/pods/a/x', 11, stored(10)),
      gone(ELECTION, 12),
      put(ELECTION, 13),
      put('/registry/pods/a/y', 14, stored(13)),
    ];
    expect(checkFences(events, new Map())).toMatchObject({ checked: 2, violations: [] });
  });

  test('finds a write of an epoch that is over', () => {
    const events = [
      put(ELECTION, 10),
      gone(ELECTION, 12),
      put(ELECTION, 13),
      put('/registry/pods/a/y', 14, stored(10)),
    ];
    const what = `/registry/pods/a/y at revision 14: epoch 10 of ${ELECTION}, while epoch 13 led`;
    expect(checkFences(events, new Map()).violations).toMatchObject([{ what }]);
  });

  test('finds a write without a leader, a deletion by its record', () => {
    const record = Buffer.from(JSON.stringify({ electionKey: ELECTION, epoch: 10 }));
    const events = [
      gone(ELECTION, 12),
      put('/gantry/deleted/registry/pods/a/x', 13, record),
      gone('/registry/pods/a/x', 13),
    ];
    const what = `/registry/pods/a/x at revision 13: epoch 10 of ${ELECTION}, while nobody led`;
    expect(checkFences(events, new Map([[ELECTION, 10]])).violations).toMatchObject([{ what }]);
  });

  test('does not count writes without a fence', () => {
    expect(checkFences([put('/registry/pods/a/y', 13, stored(0, ''))], new Map())).toMatchObject({ checked: 0 });
  });
});
