import { parseIpv4Range } from '@gantry/objects';
import { must } from '@gantry/base';
import { expect, test } from 'vitest';
import { formatAddresses, mergeRanges, subtractRanges } from './ranges.ts';

const range = (text: string) => must(parseIpv4Range(text), text);

test.each<readonly [string, readonly string[], readonly string[]]>([
  ['nothing', [], []],
  ['apart', ['10.0.2.0/24', '10.0.0.0/24'], ['10.0.0.0-10.0.0.255', '10.0.2.0-10.0.2.255']],
  ['touching', ['10.0.0.0/24', '10.0.1.0/24'], ['10.0.0.0-10.0.1.255']],
  ['one in another', ['10.0.0.0/8', '10.3.0.0/16', '10.255.0.0/16'], ['10.0.0.0-10.255.255.255']],
  ['the same twice', ['10.0.0.1/32', '10.0.0.1/32'], ['10.0.0.1']],
  ['both ends', ['0.0.0.0/1', '128.0.0.0/1'], ['0.0.0.0-255.255.255.255']],
])('ranges are merged: %s', (_, from, expected) => {
  expect(mergeRanges(from.map(range)).map(formatAddresses)).toEqual(expected);
});

test.each<readonly [string, string, readonly string[], readonly string[]]>([
  ['nothing', '10.0.0.0/24', [], ['10.0.0.0-10.0.0.255']],
  ['the start', '10.0.0.0/24', ['10.0.0.0/25'], ['10.0.0.128-10.0.0.255']],
  ['the end', '10.0.0.0/24', ['10.0.0.255/32'], ['10.0.0.0-10.0.0.254']],
  [
    'two in the middle',
    '10.0.0.0/24',
    ['10.0.0.9/32', '10.0.0.2/32'],
    ['10.0.0.0-10.0.0.1', '10.0.0.3-10.0.0.8', '10.0.0.10-10.0.0.255'],
  ],
  ['all', '10.0.0.0/24', ['10.0.0.0/25', '10.0.0.128/25'], []],
  ['more than all', '10.0.0.0/24', ['10.0.0.0/8'], []],
  ['what is elsewhere', '10.0.0.0/24', ['10.0.1.0/24', '9.0.0.0/8'], ['10.0.0.0-10.0.0.255']],
])('ranges are subtracted: %s', (_, from, without, expected) => {
  expect(subtractRanges(range(from), without.map(range)).map(formatAddresses)).toEqual(expected);
});
