/** The bytes are not a valid protobuf message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const FIXED32 = 5;

/** Reads one message, field by field. Every error is a WireError. */
export class WireReader {
  readonly #buffer: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
    this.#end = bytes.byteLength;
  }

  get done(): boolean {
    return this.#at >= this.#end;
  }

  tag(): { field: number; wireType: number } {
    const value = Number(this.varint());
    const field = Math.floor(value / 8);
    if (field <= 0 || field > 0x1fffffff) throw new WireError(`proto: illegal tag ${field} (wire type ${value % 8})`);
    return { field, wireType: value % 8 };
  }

  /** An unsigned 64-bit number; a bigint if a double would not be exact. */
  varint(): number | bigint {
    let low = 0;
    let scale = 1;
    for (let index = 0; index < 7; index++) {
      const byte = this.#byte();
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) return low;
      scale *= 128;
    }
    let value = BigInt(low);
    for (let index = 7; index < 10; index++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError('proto: integer overflow');
  }

  double(): number {
    this.#need(8);
    this.#at += 8;
    return this.#buffer.readDoubleLE(this.#at - 8);
  }

  bytes(): Buffer {
    const length = Number(this.varint());
    this.#need(length);
    this.#at += length;
    return this.#buffer.subarray(this.#at - length, this.#at);
  }

  skip(wireType: number): void {
    switch (wireType) {
      case VARINT:
        this.varint();
        return;
      case FIXED64:
        this.#need(8);
        this.#at += 8;
        return;
      case LENGTH:
        this.bytes();
        return;
      case FIXED32:
        this.#need(4);
        this.#at += 4;
        return;
      default:
        throw new WireError(`proto: illegal wireType ${wireType}`);
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new WireError('unexpected EOF');
    return this.#buffer[this.#at++] ?? 0;
  }

  #need(count: number): void {
    if (count > this.#end - this.#at) throw new WireError('unexpected EOF');
  }
}
