import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib';
import { HEADER_DICTIONARY } from './dictionary.ts';
import { SpdyError } from './spdy-error.ts';

/** Names are in lower case. Several values of one name are separated by NUL, as in the frame. */
export type Headers = ReadonlyMap<string, string>;

const MAX_PAIRS = 100;

/**
 * The header blocks of one direction of a connection. They share the state of zlib, so each block must pass through it, in order, one at a
 * time.
 */
class BlockStream {
  readonly #zlib: Inflate | Deflate;
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;
  #fail: (error: Error) => void = () => undefined;

  constructor(zlib: Inflate | Deflate, maxBytes: number) {
    this.#zlib = zlib;
    this.#maxBytes = maxBytes;
    zlib.on('data', (part: Buffer) => {
      this.#size += part.length;
      if (this.#size > this.#maxBytes) this.#fail(new SpdyError(`a header block has more than ${maxBytes} bytes`));
      else this.#parts.push(part);
    });
    zlib.on('error', (error: Error) => this.#fail(new SpdyError(`a header block cannot be read: ${error.message}`)));
  }

  pass(block: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#parts = [];
      this.#size = 0;
      this.#fail = (error) => {
        reject(error);
        this.close();
      };
      this.#zlib.write(block, () => resolve(Buffer.concat(this.#parts)));
    });
  }

  close(): void {
    this.#zlib.destroy();
  }
}

/** Reads the header blocks of one connection. */
export class HeaderReader {
  readonly #blocks: BlockStream;

  /** An uncompressed block may have `maxBytes`. */
  constructor(maxBytes: number) {
    const zlib = createInflate({ dictionary: HEADER_DICTIONARY, flush: constants.Z_SYNC_FLUSH, chunkSize: 4096 });
    this.#blocks = new BlockStream(zlib, maxBytes);
  }

  /** Called for one block after another. Rejects with SpdyError; the connection is unusable afterwards. */
  async read(block: Uint8Array): Promise<Headers> {
    return parse(await this.#blocks.pass(block));
  }

  close(): void {
    this.#blocks.close();
  }
}

/** Writes the header blocks of one connection. */
export class HeaderWriter {
  readonly #blocks: BlockStream;

  constructor() {
    const zlib = createDeflate({ dictionary: HEADER_DICTIONARY, flush: constants.Z_SYNC_FLUSH, chunkSize: 4096 });
    this.#blocks = new BlockStream(zlib, Number.POSITIVE_INFINITY);
  }

  /** Called for one block after another. They must be sent in the same order. */
  write(headers: Headers): Promise<Buffer> {
    const texts = [...headers].flat().map((text) => Buffer.from(text, 'latin1'));
    return this.#blocks.pass(
      Buffer.concat([lengthOf(headers.size), ...texts.flatMap((text) => [lengthOf(text.length), text])]),
    );
  }

  close(): void {
    this.#blocks.close();
  }
}

function lengthOf(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

function parse(block: Buffer): Headers {
  let at = 0;
  const number = (): number => {
    if (block.length < at + 4) throw new SpdyError('a header block is too short');
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (block.length < at + length) throw new SpdyError('a header block is too short');
    at += length;
    return block.toString('latin1', at - length, at);
  };
  const pairs = number();
  if (pairs > MAX_PAIRS) throw new SpdyError(`a header block has ${pairs} pairs`);
  const headers = new Map<string, string>();
  for (let pair = 0; pair < pairs; pair++) {
    const name = text().toLowerCase();
    if (name === '' || headers.has(name)) throw new SpdyError('a header block has a name twice, or an empty one');
    headers.set(name, text());
  }
  if (at !== block.length) throw new SpdyError('a header block is too long');
  return headers;
}
