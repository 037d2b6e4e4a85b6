import { describe, expect, it } from 'vitest';
import { formatIpv4, isWithin, ownServiceAddresses, parseIpv4, parseIpv4Range } from './ipv4.ts';

describe('an IPv4 address', () => {
  it.each([
    ['0.0.0.0', 0],
    ['10.0.1.2', 0x0a_00_01_02],
    ['255.255.255.255', 2 ** 32 - 1],
  ])('%s is a number, and back', (text, number) => {
    expect(parseIpv4(text)).toBe(number);
    expect(formatIpv4(number)).toBe(text);
  });

  it.each(['', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1.2.3.4 ', '::1', '1.2.3.-4'])('%j is none', (text) => {
    expect(parseIpv4(text)).toBeUndefined();
  });
});

describe('an IPv4 range', () => {
  it.each<[string, readonly [string, string] | undefined]>([
    ['10.1.2.3/8', ['10.0.0.0', '10.255.255.255']],
    ['10.1.2.3/32', ['10.1.2.3', '10.1.2.3']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255']],
    ['10.0.0.0', undefined],
    ['10.0.0.0/33', undefined],
    ['10.0.0.0/', undefined],
    ['10.0.0.0/8/8', undefined],
    ['10.0.0.0/-1', undefined],
    ['fd00::/8', undefined],
  ])('%s has its first and last address', (text, expected) => {
    const range = parseIpv4Range(text);
    expect(range && [formatIpv4(range.first), formatIpv4(range.last)]).toEqual(expected);
  });

  it('has its own addresses alone', () => {
    const range = parseIpv4Range('10.0.0.0/30') ?? { first: 0, last: 0 };
    const asked = ['9.255.255.255', '10.0.0.0', '10.0.0.3', '10.0.0.4', 'x'];
    expect(asked.map((address) => isWithin(range, address))).toEqual([false, true, true, false, false]);
  });
});

it.each([
  ['10.96.0.0/16', '10.96.0.1', '10.96.0.10'],
  ['10.97.255.7/12', '10.96.0.1', '10.96.0.10'],
  ['10.0.0.248/28', '10.0.0.241', '10.0.0.250'],
  ['10.97.3.255/24', '10.97.3.1', '10.97.3.10'],
])("the range of Services %s has the API server's at %s and the DNS' at %s", (range, kubernetes, dns) => {
  expect(ownServiceAddresses(range)).toEqual({ kubernetes, dns });
});

it('what is no range has no addresses of Services', () => {
  expect(ownServiceAddresses('10.96.0.0')).toBeUndefined();
});
