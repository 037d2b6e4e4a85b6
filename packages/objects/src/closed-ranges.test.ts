import { BlockList } from 'node:net';
import { expect, it } from 'vitest';
import { CLOSED_RANGES } from './closed-ranges.ts';

const closed = new BlockList();
for (const range of CLOSED_RANGES) {
  const [address = '', bits = ''] = range.split('/');
  closed.addSubnet(address, Number(bits), 'ipv4');
}

it.each([
  ['0.1.2.3', true],
  ['127.0.0.1', true],
  ['169.254.169.254', true],
  ['100.100.100.200', true],
  ['168.63.129.16', true],
  ['192.0.0.192', true],
  ['224.0.0.1', true],
  ['255.255.255.255', true],
  ['10.128.4.1', false],
  ['100.100.100.201', false],
  ['192.0.2.1', false],
])('no endpoint may be at %s: %s', (address, expected) => {
  expect(closed.check(address, 'ipv4')).toBe(expected);
});
