import { type Messages, PIECE_BYTES, STAMP_BYTES } from './log-messages.ts';

const SECONDS_BYTES = 19;
const FRACTION_FROM = 20;
const FRACTION_TO = 29;
const LINE_END = 0x0a;
const NANOSECONDS = 1_000_000_000n;
/** The number of remembered messages per output: as many short lines as fit into one log file of the engine. */
const MAX_KNOWN = 131_072;
const FIRST_KNOWN = 1024;
/** The engine's longest message, including its time. */
const MAX_MESSAGE_BYTES = PIECE_BYTES + STAMP_BYTES;

/**
 * Removes repeated messages from a followed log: up to version 20.10, the engine may read the new file of a log rotation twice. Expects
 * whole messages with their times. A message is dropped only if a message of the same output with exactly the same time was read before,
 * and was followed by later ones or has the same text as the last message. So nothing is lost when the host's clock is set back.
 */
export async function* withoutRepeats(messages: Messages): Messages {
  const read = { stdout: new ReadTimes(), stderr: new ReadTimes() };
  for await (const together of messages) yield together.filter(({ kind, data }) => !read[kind].repeats(data));
}

/** The times of the messages of one output, in the order in which the engine reads them. */
class ReadTimes {
  /** Ascending times in a ring buffer: the last `#count` before `#next`. */
  #times = new BigUint64Array(FIRST_KNOWN);
  #count = 0;
  #next = 0;
  /** The number of messages with the last time. The parts of a long line have the same time. */
  #ofLast = 0;
  /** The text of the last message, and its length. */
  readonly #text = Buffer.alloc(MAX_MESSAGE_BYTES);
  #textBytes = 0;
  #repeatsLeft = 0;
  #second = { text: '', nanoseconds: 0n };

  /** Whether the message was read before. Remembers a new message. */
  repeats(message: Uint8Array): boolean {
    const isRepeated = this.#isRepeated(message);
    if (!isRepeated) this.#keep(message);
    return isRepeated;
  }

  #isRepeated(message: Uint8Array): boolean {
    const time = this.#timeOf(message);
    const last = this.#count === 0 ? -1n : this.#at(this.#count - 1);
    if (time > last) {
      this.#note(time);
      this.#ofLast = 1;
      this.#repeatsLeft = 0;
      return false;
    }
    if (time === last) {
      if (this.#repeatsLeft > 0) {
        this.#repeatsLeft -= 1;
        return true;
      }
      // The first line of a file that the engine then read again.
      if (this.#ofLast === 1 && this.#isWholeLine(message)) return true;
      this.#ofLast += 1;
      return false;
    }
    if (this.#isKnown(time)) {
      this.#repeatsLeft = this.#ofLast;
      return true;
    }
    // The clock was set back.
    this.#count = 0;
    this.#note(time);
    this.#ofLast = 1;
    this.#repeatsLeft = 0;
    return false;
  }

  /** Whether the message equals the remembered one and ends with a newline. */
  #isWholeLine(message: Uint8Array): boolean {
    return message.at(-1) === LINE_END && this.#text.subarray(0, this.#textBytes).equals(message);
  }

  #keep(message: Uint8Array): void {
    this.#textBytes = message.length > MAX_MESSAGE_BYTES ? 0 : message.length;
    this.#text.set(message.subarray(0, this.#textBytes));
  }

  #timeOf(message: Uint8Array): bigint {
    const text = Buffer.from(message.buffer, message.byteOffset, Math.min(message.byteLength, STAMP_BYTES)).toString(
      'latin1',
    );
    const second = text.slice(0, SECONDS_BYTES);
    if (second !== this.#second.text) {
      this.#second = { text: second, nanoseconds: BigInt(Date.parse(`${second}Z`) / 1000) * NANOSECONDS };
    }
    return this.#second.nanoseconds + BigInt(text.slice(FRACTION_FROM, FRACTION_TO));
  }

  /** The time at a position, counted from the oldest. */
  #at(position: number): bigint {
    const { length } = this.#times;
    return this.#times[(this.#next - this.#count + position + length) % length] ?? 0n;
  }

  #note(time: bigint): void {
    if (this.#count === this.#times.length && this.#count < MAX_KNOWN) {
      const grown = new BigUint64Array(this.#count * 2);
      for (let position = 0; position < this.#count; position++) grown[position] = this.#at(position);
      [this.#times, this.#next] = [grown, this.#count];
    }
    this.#times[this.#next] = time;
    this.#next = (this.#next + 1) % this.#times.length;
    this.#count = Math.min(this.#count + 1, this.#times.length);
  }

  #isKnown(time: bigint): boolean {
    let [from, to] = [0, this.#count];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const found = this.#at(middle);
      if (found === time) return true;
      if (found < time) from = middle + 1;
      else to = middle;
    }
    return false;
  }
}
