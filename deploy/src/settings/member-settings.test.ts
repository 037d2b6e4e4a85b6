import { expect, test } from 'vitest';
import { formatMembers, storedMembers } from './member-settings.ts';

test('members are a list, addresses, and numbers of containers for Compose', () => {
  expect(formatMembers(['etcd-0', 'etcd-3'])).toEqual({
    GANTRY_ETCD_MEMBERS: 'etcd-0,etcd-3',
    GANTRY_ETCD: 'https://etcd-0:2379,https://etcd-3:2379',
    GANTRY_ETCD_0_REPLICAS: '1',
    GANTRY_ETCD_1_REPLICAS: '0',
    GANTRY_ETCD_2_REPLICAS: '0',
    GANTRY_ETCD_3_REPLICAS: '1',
    GANTRY_ETCD_4_REPLICAS: '0',
  });
});

test.each([
  ['a new cluster', {}, [], 3],
  ['a new light one', {}, ['light'], 1],
  ['a light one whose overlay is taken back', { GANTRY_OVERLAYS: 'light' }, [], 1],
  ['one of three members that gets the overlay', { GANTRY_OVERLAYS: '' }, ['light'], 3],
  ['a light one that has grown', { GANTRY_OVERLAYS: 'light', GANTRY_ETCD_MEMBERS: 'etcd-0,etcd-1' }, ['light'], 2],
])('overlays decide once how many members there are: %s', (_, stored, overlays, count) => {
  expect(storedMembers(stored, overlays)).toHaveLength(count);
});
