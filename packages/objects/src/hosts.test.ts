import { expect, it } from 'vitest';
import { defaultClusterCidr } from './hosts.ts';

it.each([
  ['10.128.0.0/20', '10.128.0.0/16'],
  ['172.20.0.0/20', '172.20.0.0/16'],
  ['10.130.48.0/20', '10.130.0.0/16'],
  ['10.0.0.0/12', '10.0.0.0/12'],
])('the range of a cluster whose first host has %s is %s where none is set', (first, cluster) => {
  expect(defaultClusterCidr(first)).toBe(cluster);
});
