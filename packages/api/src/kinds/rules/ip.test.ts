import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cidrFamily, ipFamily } from './ip.ts';

describe('addresses', () => {
  it.each([
    ['10.9.8.7', 'IPv4'],
    ['2001:db8::ffff', 'IPv6'],
    ['::', 'IPv6'],
    ['::ffff:10.9.8.7', 'IPv6'],
    ['1:2:3:4:5:6:7:8', 'IPv6'],
    ['10.9.8', undefined],
    ['10.9.8.256', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['1::2::3', undefined],
    ['', undefined],
  ])('%s is %s', (text, family) => {
    expect(ipFamily(text)).toBe(family);
  });

  it('are told as the platform tells them', () => {
    const version = (text: string) => ({ IPv4: 4, IPv6: 6, none: 0 })[ipFamily(text) ?? 'none'];
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        expect(version(text)).toBe(isIP(text));
      }),
    );
  });

  it('have prefixes within their length', () => {
    expect(cidrFamily('10.0.0.0/8')).toBe('IPv4');
    expect(cidrFamily('10.0.0.0/33')).toBeUndefined();
    expect(cidrFamily('2001:db8::/64')).toBe('IPv6');
    expect(cidrFamily('10.0.0.0')).toBeUndefined();
  });
});
