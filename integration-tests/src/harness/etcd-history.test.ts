import { expect, test } from 'vitest';
import { type HistoryEvent, staleWrites } from './etcd-history.ts';

const ELECTION = '/gantry/elections/kube-scheduler';

function envelope(epoch: number): Buffer {
  const fixed = Buffer.alloc(30);
  fixed.writeBigUInt64BE(BigInt(epoch), 22);
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  return Buffer.concat([fixed, text('system:kube-scheduler'), text(ELECTION), text('i'), Buffer.from('{}')]);
}

const write = (modRevision: number, epoch: number): HistoryEvent => ({
  type: 'put',
  key: '/registry/pods/default/a',
  createRevision: 1,
  modRevision,
  value: envelope(epoch),
});
const elected = (revision: number): HistoryEvent => ({
  type: 'put',
  key: ELECTION,
  createRevision: revision,
  modRevision: revision,
  value: Buffer.from(''),
});
const lost = (modRevision: number): HistoryEvent => ({
  type: 'delete',
  key: ELECTION,
  createRevision: 0,
  modRevision,
  value: Buffer.from(''),
});

test('writes within their epoch are none of them stale', () => {
  const history = [write(11, 5), lost(12), elected(13), write(14, 13)];
  expect(staleWrites(history, new Map([[ELECTION, 5]]))).toEqual([]);
});

test('a write after its epoch, and one of an epoch that is not the current, are stale', () => {
  const history = [lost(12), write(13, 5), elected(14), write(15, 5)];
  expect(staleWrites(history, new Map([[ELECTION, 5]])).map(({ revision }) => revision)).toEqual([13, 15]);
});
