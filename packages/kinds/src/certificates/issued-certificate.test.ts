import { describe, expect, it } from 'vitest';
import { CERTIFICATE, pem } from '../testing/example-certificate.ts';
import { certificateFault, derSequences } from './issued-certificate.ts';

const der = Buffer.from(CERTIFICATE.toString().split('\n')[1] ?? '', 'base64');
const inBlock = (bytes: Buffer): string => pem('CERTIFICATE', bytes.toString('base64')).toString('base64');

describe('an issued certificate', () => {
  it('may be one of very many in a block, and every byte is parsed once', () => {
    const many = Buffer.concat(Array.from({ length: 200 }, () => der));
    expect(certificateFault(inBlock(many))).toBe('');
    const parts = derSequences(many) ?? [];
    expect(parts).toHaveLength(200);
    expect(parts.reduce((sum, part) => sum + part.length, 0)).toBe(many.length);
  });

  it.each<[string, Buffer]>([
    ['is cut', der.subarray(0, -1)],
    ['is followed by bytes', Buffer.concat([der, Buffer.of(0)])],
    ['is followed by the beginning of another one', Buffer.concat([der, der.subarray(0, 3)])],
    ['is a sequence without a certificate', Buffer.of(0x30, 0)],
    ['is in PEM within the block', CERTIFICATE],
    ['has another PEM within its sequence', Buffer.concat([Buffer.of(0x30, 0x82, 2, 0), CERTIFICATE])],
  ])('is refused where it %s', (_, bytes) => {
    expect(certificateFault(inBlock(bytes))).toBe('x509: malformed certificate');
  });
});

it.each<[string, readonly number[], readonly number[] | undefined]>([
  ['nothing', [], []],
  ['two short sequences', [0x30, 1, 5, 0x30, 0], [3, 2]],
  ['a long one', [0x30, 0x81, 0x80, ...Array.from({ length: 128 }, () => 0)], [131]],
  ['another type', [0x31, 0], undefined],
  ['a length that is too long', [0x30, 2, 0], undefined],
  ['a length without an end', [0x30, 0x80, 0, 0], undefined],
  ['a length of eight bytes', [0x30, 0x88, 0, 0, 0, 0, 0, 0, 0, 0], undefined],
  ['a length in more bytes than it needs', [0x30, 0x81, 1, 5], undefined],
  ['a length that begins with a zero', [0x30, 0x82, 0, 0x80, ...Array.from({ length: 128 }, () => 0)], undefined],
  ['half a length', [0x30, 0x82, 1], undefined],
])('sequences of %s', (_, bytes, lengths) => {
  expect(derSequences(Buffer.from(bytes))?.map(({ length }) => length)).toEqual(lengths);
});
