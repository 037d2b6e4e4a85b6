import type { Answer, Question } from 'dns-packet';
import packet from 'dns-packet';

/** The parts of the library that its types leave out. */
interface Parts {
  readonly name: Decoder<string> & Encoder<string>;
  readonly question: Decoder<Question>;
  readonly answer: Decoder<Answer> & Encoder<Answer>;
}

interface Decoder<T> {
  /** Throws for what is not one. `decode.bytes` is then the length of the last one that was read. */
  readonly decode: ((bytes: Buffer, offset: number) => T) & { readonly bytes: number };
}

interface Encoder<T> {
  readonly encode: ((value: T, bytes: Buffer, offset: number) => unknown) & { readonly bytes: number };
  readonly encodingLength: (value: T) => number;
}

/** Reads and writes parts of packets; all offsets are of the whole packet, since names point back into it. */
export const parts = packet as unknown as Parts;
