import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TerminalSizeError, TerminalSizes } from './terminal-sizes.ts';

const length = fc.integer({ min: 0, max: 65_535 });

describe('sizes of a terminal', () => {
  it('are read wherever their bytes are cut', () => {
    const sizes = fc.array(fc.record({ width: length, height: length }), { maxLength: 5 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 30 }), fc.constantFrom('', '\n', ' '), (sent, size, between) => {
        const text = sent.map(({ width, height }) => JSON.stringify({ Width: width, Height: height })).join(between);
        const reader = new TerminalSizes();
        const read = [];
        for (let at = 0; at < text.length; at += size)
          read.push(...reader.read(Buffer.from(text.slice(at, at + size))));
        expect(read).toEqual(sent);
      }),
    );
  });

  it.each(['{"Width":-1}', '{"Width":65536}', '{"Height":"9"}', '{]}', '[1]}', 'x'.repeat(2000)])(
    'are not %s',
    (text) => {
      expect(() => [...new TerminalSizes().read(Buffer.from(text))]).toThrow(TerminalSizeError);
    },
  );

  it('are parsed one by one, as they are taken', () => {
    const sizes = new TerminalSizes().read(Buffer.from('{"Width":1}{"Width":2}{]}'));
    const [first] = [sizes.next(), sizes.next()];
    expect(first.value).toEqual({ width: 1, height: 0 });
    expect(() => sizes.next()).toThrow(TerminalSizeError);
  });

  it('are read from anything, or refused', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (chunks) => {
        const reader = new TerminalSizes();
        try {
          for (const chunk of chunks) for (const _ of reader.read(chunk)) continue;
        } catch (error) {
          expect(error).toBeInstanceOf(TerminalSizeError);
        }
      }),
    );
  });
});
