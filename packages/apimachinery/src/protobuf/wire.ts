/** The bytes are not a valid protobuf message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const FIXED32 = 5;

/** Writes a message from end to start, so that the length of a nested message is known when its header is written. */
export class BackwardWriter {
  #buffer = Buffer.allocUnsafe(4096);
  #start = 4096;

  /** Bytes written so far. The length of a message is a difference of two values. */
  get size(): number {
    return this.#buffer.length - this.#start;
  }

  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#buffer, this.#start);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[--this.#start] = value;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    this.#buffer.set(value, this.#start);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length);
    this.#start -= length;
    this.#buffer.write(value, this.#start, length, 'utf8');
  }

  varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= 0x7fffffff) {
      const size = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
      this.#reserve(size);
      this.#start -= size;
      let rest = value;
      for (let at = this.#start; ; at++, rest >>>= 7) {
        if (rest < 0x80) {
          this.#buffer[at] = rest;
          return;
        }
        this.#buffer[at] = (rest & 0x7f) | 0x80;
      }
    }
    const parts: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      parts.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    parts.push(Number(rest));
    this.bytes(Uint8Array.from(parts));
  }

  double(value: number): void {
    this.#reserve(8);
    this.#start -= 8;
    this.#buffer.writeDoubleLE(value, this.#start);
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  #reserve(count: number): void {
    if (this.#start >= count) return;
    const used = this.size;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, used + count));
    this.#buffer.copy(grown, grown.length - used, this.#start);
    this.#buffer = grown;
    this.#start = grown.length - used;
  }
}

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
