const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const ALPN_EXTENSION = 16;
const RECORD_HEADER_BYTES = 5;
const RANDOM_BYTES = 32;

/**
 * The application protocols that a TLS client offers in the first bytes of its connection (RFC 8446, 4.1.2 and RFC 7301); none when it
 * offers none, or when these are not the first bytes of a TLS client. `incomplete`: more bytes are needed.
 */
export function offeredProtocols(bytes: Buffer): readonly string[] | 'incomplete' {
  if (bytes.length < RECORD_HEADER_BYTES) return bytes.length > 0 && bytes[0] !== HANDSHAKE_RECORD ? [] : 'incomplete';
  if (bytes[0] !== HANDSHAKE_RECORD) return [];
  const end = RECORD_HEADER_BYTES + bytes.readUInt16BE(3);
  if (bytes.length < end) return 'incomplete';
  try {
    return readHello(new Reader(bytes.subarray(RECORD_HEADER_BYTES, end)));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

function readHello(hello: Reader): readonly string[] {
  if (hello.number(1) !== CLIENT_HELLO) return [];
  // Its length and version.
  hello.bytes(3 + 2 + RANDOM_BYTES);
  // Session, cipher suites, compressions.
  for (const size of [1, 2, 1]) hello.bytes(hello.number(size));
  const extensions = new Reader(hello.bytes(hello.number(2)));
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const content = new Reader(extensions.bytes(extensions.number(2)));
    if (type === ALPN_EXTENSION) return readProtocols(new Reader(content.bytes(content.number(2))));
  }
  return [];
}

function readProtocols(list: Reader): readonly string[] {
  const found: string[] = [];
  while (list.left > 0) found.push(list.bytes(list.number(1)).toString('latin1'));
  return found;
}

/** Reads forward; RangeError beyond the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: number): number {
    return this.bytes(size).readUIntBE(0, size);
  }

  bytes(size: number): Buffer {
    if (size > this.left) throw new RangeError('beyond the end');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}
