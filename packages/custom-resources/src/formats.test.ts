import { describe, expect, it } from 'vitest';
import { hasFormat, isSupportedFormat } from './formats.ts';

describe('formats', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['date', ['2020-02-29'], ['', '2020-02-30', '2020-1-1', '20200101', '2020-01-01T00:00:00Z']],
    [
      'date-time',
      ['2020-01-01T00:00:00Z', '2020-01-01t00:00:00z', '2020-01-01T00:00:00,5+01:00'],
      ['2020-01-01 00:00:00Z', '2020-01-01T00:00:00', '2020-01-01T24:00:00Z', '2020-01-01'],
    ],
    [
      'duration',
      ['1h30m', '0', '-1s', '.5h', '1 day', '2d', 'P1D', '22 ns', '1h 5m', '3 Weeks'],
      ['', '5', '1y', 'abc', '1 mo'],
    ],
    [
      'email',
      ['a@b.c', 'A <a@b.c>', '<a@b.c>', '"x y"@z.de', 'a@[1.2.3.4]', 'ü@b.c', 'J. Doe <a@b>', 'a@b (x)'],
      ['', 'a', 'a@', '@b', 'a b@c.d', 'a@b..c', '.a@b.c', 'a@b.c, d@e.f', 'a@[x]', '""@b', 'A <a@b.c', 'a@b (x'],
    ],
    [
      'uri',
      ['*', '/x', '//x', 'http:', 'mailto:a@b', 'a:b', 'http://[::1]:80', 'x://y?z#w', 'http://a:b@c:1/d', 'x:%zz'],
      [
        '',
        'a',
        '#f',
        '?q',
        'http://a b',
        'http://a/%',
        'http://%zz',
        'http://a:b/',
        ':a',
        'http://[x]',
        'http://a:1:2/',
      ],
    ],
    ['ipv4', ['1.2.3.4', '01.2.3.4', '::ffff:1.2.3.4'], ['', '1.2.3', '1.2.3.256', '::1']],
    ['ipv6', ['::1', '::ffff:1.2.3.4'], ['', '1.2.3.4', 'fe80::1%eth0', ':::']],
    ['cidr', ['1.2.3.4/8', '::/128', '01.2.3.4/08'], ['', '1.2.3.4', '1.2.3.4/33', '::/129', '1.2.3.4/x']],
    [
      'mac',
      ['00:00:5e:00:53:01', '02-00-5e-10-00-00-00-01', '0200.5e10.0000.0001', `${'00:'.repeat(19)}00`],
      ['', '00:00', '00:00:5e-00:53:01', '0200.5e10'],
    ],
    [
      'hostname',
      ['a.bc', 'localhost', 'A.COM', 'xn--a.com', 'ü.de'],
      ['', '-a.b', 'a..b', 'a_b', 'a b', 'x'.repeat(64)],
    ],
    ['uuid', ['123E4567-E89B-12D3-A456-426614174000', '123e4567e89b12d3a456426614174000'], ['', '{123}']],
    ['uuid4', ['025b0d74-00a2-4048-bf57-227c5111bb34'], ['025b0d74-00a2-4048-7f57-227c5111bb34']],
    ['byte', ['YQ==', 'YWJj'], ['', 'YQ', '-_==', 'YQ==\n']],
    ['ssn', ['111-22-3333', '111 22 3333'], ['', '111223333', '11-22-3333']],
    ['isbn', ['0321751043', '978-0321751041'], ['', '0321751044']],
    ['creditcard', ['4242 4242 4242 4242', 'a4242424242424242'], ['', '1234567812345678']],
    ['rgbcolor', ['rgb(1,2,3)', 'rgb( 1 , 2 , 3 )'], ['rgb(256,0,0)', 'rgb(1,2)', 'RGB(1,2,3)']],
    ['k8s-short-name', ['a-b'], ['', 'A', '-a', 'a.b', 'x'.repeat(64)]],
    ['k8s-long-name', ['a.b', `${'x'.repeat(64)}.b`], ['', 'a..b', 'x'.repeat(254)]],
    ['bogus', ['', 'anything'], []],
  ])('%s', (format, good, bad) => {
    expect(good.filter((text) => !hasFormat(text, format))).toEqual([]);
    expect(bad.filter((text) => hasFormat(text, format))).toEqual([]);
  });

  it.each([
    ['int32', 'integer', true],
    ['int32', 'string', false],
    ['double', 'number', true],
    ['date', 'object', false],
    ['date', undefined, true],
    ['date-time', 'string', true],
  ])('%s means something to %s: %s', (format, type, expected) => {
    expect(isSupportedFormat(format, type)).toBe(expected);
  });
});
