import { expect, test } from 'vitest';
import { readKeys } from './record-etcd.ts';
import { readSamples } from './record-metrics.ts';

test('selected samples are read with their labels', () => {
  const text = [
    '# HELP leader_election_master_status Whether',
    'leader_election_master_status{name="kube-scheduler"} 1',
    'gantry_event_loop_stalls_total 3',
    'something_else 4',
    'gantry_event_loop_longest_stall_seconds{time="wall"} NaN',
  ].join('\n');
  expect(readSamples(text)).toEqual([
    { name: 'leader_election_master_status', labels: { name: 'kube-scheduler' }, value: 1 },
    { name: 'gantry_event_loop_stalls_total', labels: {}, value: 3 },
  ]);
});

test('keys keep their values as base64', () => {
  const printed = { kvs: [{ key: 'L2E=', value: 'AAE=', create_revision: 2, mod_revision: 3, version: 4 }] };
  expect(readKeys(JSON.stringify(printed))).toEqual([
    { key: '/a', value: 'AAE=', createRevision: 2, modRevision: 3, version: 4 },
  ]);
  expect(readKeys('{"header":{}}')).toEqual([]);
});
