import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalIp,
  cidrFamily,
  cidrWarnings,
  ipFamily,
  ipWarnings,
  isStrictSubset,
  validateCanonicalCidr,
  validateCanonicalIp,
  validateCidr,
  validateEndpointIp,
  validateIp,
} from './ip.ts';

describe('addresses', () => {
  it.each([
    ['10.9.8.7', 'IPv4'],
    ['2001:db8::ffff', 'IPv6'],
    ['::', 'IPv6'],
    ['::ffff:10.9.8.7', 'IPv4'],
    ['010.9.8.7', 'IPv4'],
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
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        expect(ipFamily(text) !== undefined).toBe(isIP(text) !== 0);
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

const details = (errors: readonly { readonly detail: string }[]) => errors.map(({ detail }) => detail);

describe('fields that hold addresses', () => {
  it.each([
    [validateIp, '10.0.0.01', 'must not have leading 0s'],
    [validateIp, '::ffff:10.0.0.1', 'must not be an IPv4-mapped IPv6 address'],
    [validateIp, '2001:DB8:0:0::1', undefined],
    [validateCanonicalIp, '2001:DB8:0:0::1', 'must be in canonical form ("2001:db8::1")'],
    [validateCanonicalIp, '1:0:0:2:0:0:0:3', 'must be in canonical form ("1:0:0:2::3")'],
    [validateCanonicalIp, '2001:db8::1', undefined],
    [validateCidr, '10.0.0.0/08', 'must not have leading 0s in IP or prefix length'],
    [validateCidr, '10.0.0.1/8', 'must not have bits set beyond the prefix length'],
    [validateCidr, '::ffff:10.0.0.0/104', 'must not have an IPv4-mapped IPv6 address'],
    [validateCanonicalCidr, '2001:db8:0::/64', 'must be in canonical form ("2001:db8::/64")'],
    [validateCanonicalCidr, '10.1.0.0/16', undefined],
    [validateEndpointIp, '0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    [validateEndpointIp, '127.0.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    [validateEndpointIp, 'fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    [validateEndpointIp, '224.0.0.9', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    [validateEndpointIp, '10.0.0.1', undefined],
  ])('%o of %s', (check, text, detail) => {
    expect(details(check(text, 'a'))).toEqual(detail === undefined ? [] : [detail]);
  });

  it('may keep what they held', () => {
    expect(validateIp('010.0.0.1', 'a', ['010.0.0.1'])).toEqual([]);
    expect(validateCidr('10.0.0.1/8', 'a', ['10.0.0.1/8'])).toEqual([]);
  });

  it('warn of other forms', () => {
    expect(ipWarnings('2001:DB8::1', 'a')).toEqual([
      'a: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ]);
    expect(ipWarnings('10.0.0.1', 'a')).toEqual([]);
    expect(cidrWarnings('10.0.0.1/8', 'a')).toEqual([
      'a: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
    ]);
    expect(cidrWarnings('2001:DB8::/64', 'a')).toEqual([
      'a: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")',
    ]);
  });

  it.each([
    ['10.0.0.1', 'IPv4', '10.0.0.1'],
    ['255.249.199.0', 'IPv4', '255.249.199.0'],
    ['010.0.0.1', 'IPv4', '10.0.0.1'],
    ['::ffff:10.0.0.1', 'IPv4', '10.0.0.1'],
    ['2001:DB8:0:0::1', 'IPv6', '2001:db8::1'],
  ])('have one canonical form: %s', (text, family, canonical) => {
    expect(canonicalIp(text)).toEqual({ family, text: canonical });
  });

  it.each(['', '10.0.0', '10.0.0.256', '10.0.0.1.', '10.0.0.1.2', 'host'])('%j is none', (text) => {
    expect(canonicalIp(text)).toBeUndefined();
  });

  it('tell a part of a range from the whole', () => {
    expect(isStrictSubset('10.1.0.0/16', '10.0.0.0/8')).toBe(true);
    expect(isStrictSubset('10.0.0.0/8', '10.0.0.0/8')).toBe(false);
    expect(isStrictSubset('11.1.0.0/16', '10.0.0.0/8')).toBe(false);
    expect(isStrictSubset('2001:db8::/64', '10.0.0.0/8')).toBe(false);
  });
});
