import { constants, createDeflate, crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADER_DICTIONARY } from './dictionary.ts';
import { HeaderReader, HeaderWriter } from './header-blocks.ts';
import { SpdyError } from './spdy-error.ts';

const LIMIT = 4096;
/** Of the dictionary in the specification. */
const CRC = 80234766;

const headers = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,12}$/), fc.stringMatching(/^[ -~]{0,40}$/)), {
  selector: ([name]) => name,
  maxLength: 10,
});

/** What zlib makes of bytes with the dictionary of SPDY/3. */
function packed(bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const zlib = createDeflate({ dictionary: HEADER_DICTIONARY, flush: constants.Z_SYNC_FLUSH });
    const parts: Buffer[] = [];
    zlib.on('data', (part: Buffer) => parts.push(part));
    zlib.write(bytes, () => resolve(Buffer.concat(parts)));
  });
}

describe('header blocks', () => {
  it('use the dictionary of SPDY/3', () => {
    expect(HEADER_DICTIONARY.length).toBe(1423);
    expect(HEADER_DICTIONARY.subarray(0, 11)).toEqual(Buffer.from('\0\0\0\x07options'));
    expect(HEADER_DICTIONARY.subarray(-4)).toEqual(Buffer.from('q=0.'));
    expect(crc32(HEADER_DICTIONARY)).toBe(CRC);
  });

  it('are read as they were written, one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(headers, { maxLength: 6 }), async (blocks) => {
        const writer = new HeaderWriter();
        const reader = new HeaderReader(LIMIT);
        for (const block of blocks) {
          const sent = new Map(block);
          expect(await reader.read(await writer.write(sent))).toEqual(sent);
        }
        writer.close();
        reader.close();
      }),
    );
  });

  it('of any bytes are read, or refused as an error of the protocol', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, isPacked) => {
        const reader = new HeaderReader(LIMIT);
        const block = isPacked ? await packed(Buffer.from(bytes)) : bytes;
        await reader.read(block).catch((error: unknown) => expect(error).toBeInstanceOf(SpdyError));
        reader.close();
      }),
    );
  });

  it.each([
    [
      'that unpack to more than the limit',
      Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.alloc(1 << 20)]),
      /more than 4096 bytes/,
    ],
    ['with too many pairs', Buffer.from([0, 0, 1, 0]), /256 pairs/],
    ['with a length beyond their end', Buffer.from([0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]), /too short/],
    ['with an empty name', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), /empty/],
    ['with more than they say', Buffer.from([0, 0, 0, 0, 1]), /too long/],
  ])('are refused %s', async (_, bytes, message) => {
    const reader = new HeaderReader(LIMIT);
    await expect(reader.read(await packed(bytes))).rejects.toThrow(message);
    reader.close();
  });
});
