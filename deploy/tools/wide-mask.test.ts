import { describe, expect, it } from 'vitest';
import { mask, unmask } from './wide-mask.ts';

const KEY = Buffer.from([0xa1, 0x02, 0x73, 0xf4]);

/** As RFC 6455 says it. */
function masked(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ (KEY[at % 4] ?? 0)));
}

describe('a mask', () => {
  it.each([0, 1, 2, 3, 4, 5, 31, 32, 1000, 1001, 1002, 1003])(
    'goes over %i bytes from any address, and no further',
    (size) => {
      for (let from = 0; from < 8; from++) {
        const around = Buffer.from(Array.from({ length: size + 16 }, (_, at) => (7 * at) % 256));
        const before = Buffer.from(around);
        const bytes = around.subarray(from, from + size);
        const expected = masked(bytes);
        unmask(bytes, KEY);
        expect(bytes.equals(expected)).toBe(true);
        expect(around.subarray(0, from).equals(before.subarray(0, from))).toBe(true);
        expect(around.subarray(from + size).equals(before.subarray(from + size))).toBe(true);
      }
    },
  );

  it('is written to another place', () => {
    const source = Buffer.from('the bytes of a client, and what follows');
    const before = Buffer.from(source);
    const output = Buffer.alloc(60);
    mask(source, KEY, output, 5, 23);
    expect(output.subarray(5, 28).equals(masked(source.subarray(0, 23)))).toBe(true);
    expect([...output.subarray(0, 5), ...output.subarray(28)].every((byte) => byte === 0)).toBe(true);
    expect(source.equals(before)).toBe(true);
  });
});
