import { create, type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { PREFIX_BYTES } from './frame-message.ts';
import { bytesParts } from './parts.ts';

/** What comes on a stream is no message, or one that is too long. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
}

/** Of one message that is given for bytes that have come. */
const BATCH_BYTES = 256 * 1024;
const LEAST_BUFFER_BYTES = 1024;
/** What a message that waits counts for in addition to its bytes: its buffer and its objects. */
const MESSAGE_BYTES = 2 * LEAST_BUFFER_BYTES;
/** Buffers that are kept for what comes: while one is read, another one is filled. */
const FREE_BUFFERS = 2;
/** A tag, and a length of up to 32 bits. */
const FIELD_BYTES = 6;

const NOTHING = Buffer.alloc(0);

/** Bytes of one part that wait for the reader. */
interface Batch {
  readonly name: string;
  buffer: Buffer;
  size: number;
}

/** A message that waits for the reader, as it was encoded. */
type Whole = Uint8Array;

/**
 * Decodes the messages of a gRPC stream whose content may be bytes, as their pieces come. The bytes of one part are a stream: a message
 * may be given as several, and several as one, of at most 256 KiB. They are gathered in few buffers that are used again and again. Buffers
 * of their own outlive the collections of V8's young generation, and then count with the old one, all of which is soon collected.
 */
export class MessageReader<T extends Message> {
  readonly #schema: DescMessage;
  readonly #maxBytes: number;
  readonly #names: ReadonlyMap<number, string>;
  readonly #waiting: (Batch | Whole)[] = [];
  readonly #free: Buffer[] = [];
  readonly #head = Buffer.alloc(PREFIX_BYTES + FIELD_BYTES);
  #headSize = 0;
  #state: 'prefix' | 'field' | 'part' | 'whole' = 'prefix';
  /** Of the message that comes. */
  #left = 0;
  #name = '';
  #whole: Buffer = NOTHING;
  #waitingBytes = 0;
  #lent: Buffer | undefined;

  /** `maxBytes` of one message. */
  constructor(schema: DescMessage, maxBytes: number) {
    this.#schema = schema;
    this.#maxBytes = maxBytes;
    this.#names = new Map([...bytesParts(schema)].map(([name, tag]) => [tag, name]));
  }

  /** How much memory that takes, about, which has come and was not taken. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Whether a message has begun that has not come as a whole. */
  get isWithinMessage(): boolean {
    return this.#state !== 'prefix' || this.#headSize > 0;
  }

  /** The next message; undefined when none has come. Its bytes are valid until the next is taken. Throws MessageError. */
  take(): T | undefined {
    if (this.#lent !== undefined && this.#free.length < FREE_BUFFERS) this.#free.push(this.#lent);
    this.#lent = undefined;
    const next = this.#waiting.shift();
    if (next === undefined) return undefined;
    this.#waitingBytes -= MESSAGE_BYTES + (next instanceof Uint8Array ? next.length : next.size);
    if (next instanceof Uint8Array) return this.#decode(next);
    this.#lent = next.buffer;
    const part = { case: next.name, value: next.buffer.subarray(0, next.size) };
    return create(this.#schema, { part }) as T;
  }

  /** Takes a piece of the stream, of any length, which is not needed afterwards. Throws MessageError. */
  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) {
      switch (this.#state) {
        case 'prefix':
          this.#head[this.#headSize++] = piece[at++] ?? 0;
          if (this.#headSize === PREFIX_BYTES) this.#begin();
          break;
        case 'field':
          this.#head[this.#headSize++] = piece[at++] ?? 0;
          this.#left--;
          this.#readField();
          break;
        case 'part':
          at = this.#gather(piece, at);
          break;
        case 'whole':
          at = this.#fill(piece, at);
      }
    }
  }

  #begin(): void {
    const length = this.#head.readUInt32BE(1);
    if (this.#head[0] !== 0) throw new MessageError('the message is compressed, which was not agreed on');
    if (length > this.#maxBytes) {
      throw new MessageError(`the message has ${length} bytes, which is more than ${this.#maxBytes}`);
    }
    this.#headSize = 0;
    this.#left = length;
    this.#state = 'field';
    if (length === 0) this.#beginWhole();
  }

  /** Whether the message is one part of bytes is known from its first tag, and the length after it. */
  #readField(): void {
    const name = this.#names.get(this.#head[0] ?? 0);
    const last = this.#head[this.#headSize - 1] ?? 0;
    const isComplete = this.#headSize > 1 && last < 0x80;
    if (name === undefined || (!isComplete && (this.#headSize === FIELD_BYTES || this.#left === 0))) this.#beginWhole();
    else if (isComplete) {
      if (this.#fieldLength() !== this.#left) this.#beginWhole();
      else {
        this.#name = name;
        this.#next(this.#left === 0 ? 'prefix' : 'part');
      }
    }
  }

  #fieldLength(): number {
    let length = 0;
    for (let at = this.#headSize - 1; at > 0; at--) length = length * 0x80 + ((this.#head[at] ?? 0) & 0x7f);
    return length;
  }

  #beginWhole(): void {
    this.#whole = Buffer.alloc(this.#headSize + this.#left);
    this.#head.copy(this.#whole, 0, 0, this.#headSize);
    this.#next('whole');
    if (this.#left === 0) this.#endWhole();
  }

  #fill(piece: Uint8Array, from: number): number {
    const end = Math.min(from + this.#left, piece.length);
    this.#whole.set(piece.subarray(from, end), this.#whole.length - this.#left);
    this.#left -= end - from;
    if (this.#left === 0) this.#endWhole();
    return end;
  }

  #endWhole(): void {
    this.#waiting.push(this.#whole);
    this.#waitingBytes += this.#whole.length + MESSAGE_BYTES;
    this.#whole = NOTHING;
    this.#next('prefix');
  }

  #gather(piece: Uint8Array, from: number): number {
    const batch = this.#batch();
    const end = Math.min(from + this.#left, piece.length, from + BATCH_BYTES - batch.size);
    const size = batch.size + end - from;
    if (size > batch.buffer.length) batch.buffer = grown(batch, size);
    batch.buffer.set(piece.subarray(from, end), batch.size);
    batch.size = size;
    this.#waitingBytes += end - from;
    this.#left -= end - from;
    if (this.#left === 0) this.#next('prefix');
    return end;
  }

  /** One that has room. */
  #batch(): Batch {
    const last = this.#waiting.at(-1);
    if (last !== undefined && !(last instanceof Uint8Array) && last.name === this.#name && last.size < BATCH_BYTES) {
      return last;
    }
    const batch = { name: this.#name, buffer: this.#free.pop() ?? NOTHING, size: 0 };
    this.#waiting.push(batch);
    this.#waitingBytes += MESSAGE_BYTES;
    return batch;
  }

  #next(state: 'prefix' | 'part' | 'whole'): void {
    this.#headSize = 0;
    this.#state = state;
  }

  #decode(bytes: Uint8Array): T {
    try {
      return fromBinary(this.#schema, bytes) as T;
    } catch (error) {
      throw new MessageError('the message cannot be decoded', { cause: error });
    }
  }
}

/** A larger buffer with the same content. An interactive stream never needs much. */
function grown({ buffer, size }: Batch, wanted: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(BATCH_BYTES, Math.max(LEAST_BUFFER_BYTES, 2 * buffer.length, wanted)));
  buffer.copy(larger, 0, 0, size);
  return larger;
}
