import packet from 'dns-packet';
import type { Answer, Question } from 'dns-packet';

/** A question with everything that its response depends on. */
export interface Query {
  /** The packet. A response repeats its question and its id. */
  readonly bytes: Buffer;
  /** The end of the question in the packet. */
  readonly questionEnd: number;
  /**
   * In lower case, without the final dot. The root is empty. Undefined if a label has a dot or a byte that is not ASCII: such a name is
   * not ours.
   */
  readonly name: string | undefined;
  readonly type: number;
  readonly class: number;
  readonly edns: Edns | undefined;
}

/** The client's information about itself in an OPT record (RFC 6891). */
interface Edns {
  readonly udpPayloadSize: number;
  readonly version: number;
  readonly wantsSignatures: boolean;
  /** Whether the record has options, which make each query different. */
  readonly hasOptions: boolean;
}

/** `ignored`: gets no response. `refused`: gets a response with this code. */
type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'refused'; readonly code: ResponseCode }
  | { readonly kind: 'ignored' };

/** Response codes of RFC 1035 and, above 15, of RFC 6891. */
export const CODES = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  noName: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const;
export type ResponseCode = (typeof CODES)[keyof typeof CODES];

/** The numbers of record types and classes. */
export const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;
export const CLASS_IN = 1;

export const HEADER_BYTES = 12;
/** An OPT record and a signature. A packet with more additional records is no question. */
const MAX_ADDITIONALS = 2;
const OPCODE = 0x78;
const RESPONSE = 0x80;

/** Reads a packet from a client. Never throws, whatever the packet. */
export function readQuery(bytes: Buffer): ReadQuery {
  // Otherwise servers would answer each other's responses without end.
  if (bytes.length < HEADER_BYTES || ((bytes[2] ?? 0) & RESPONSE) !== 0) return { kind: 'ignored' };
  if (((bytes[2] ?? 0) & OPCODE) !== 0) return { kind: 'refused', code: CODES.notImplemented };
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at));
  // This is checked before the library allocates memory for the records.
  if (questions !== 1 || answers !== 0 || authorities !== 0 || (additionals ?? 0) > MAX_ADDITIONALS)
    return { kind: 'refused', code: CODES.formatError };
  try {
    return { kind: 'query', query: decodeQuery(bytes, additionals ?? 0) };
  } catch {
    // Any error of the library means that the packet is invalid.
    return { kind: 'refused', code: CODES.formatError };
  }
}

function decodeQuery(bytes: Buffer, additionals: number): Query {
  const text = parts.name.decode(bytes, HEADER_BYTES);
  const nameEnd = HEADER_BYTES + parts.name.decode.bytes;
  const questionEnd = nameEnd + 4;
  let edns: Edns | undefined;
  let at = questionEnd;
  const [type, recordClass] = [bytes.readUInt16BE(nameEnd), bytes.readUInt16BE(nameEnd + 2)];
  for (let i = 0; i < additionals; i++) {
    edns ??= ednsOf(parts.answer.decode(bytes, at));
    at += parts.answer.decode.bytes;
  }
  return { bytes, questionEnd, name: clusterText(text, bytes, nameEnd), type, class: recordClass, edns };
}

/** Returns the name as text if the text and the bytes are equivalent: no dots in labels, and ASCII only. */
function clusterText(text: string, bytes: Buffer, nameEnd: number): string | undefined {
  let at = HEADER_BYTES;
  while (at < nameEnd) {
    const length = bytes[at] ?? 0;
    // There is no earlier name that it could point to.
    if (length > 63) throw new RangeError('the name of the question is compressed');
    for (let i = at + 1; i <= at + length; i++) if (bytes[i] === 0x2e || (bytes[i] ?? 0) > 0x7e) return undefined;
    at += length + 1;
  }
  return text === '.' ? '' : text.toLowerCase();
}

function ednsOf(record: Answer): Edns | undefined {
  if (record.type !== 'OPT') return undefined;
  const { udpPayloadSize, ednsVersion, flag_do: wantsSignatures, options } = record;
  return { udpPayloadSize, version: ednsVersion, wantsSignatures, hasOptions: options.length > 0 };
}

/** The parts of the library that its types omit. */
interface Parts {
  readonly name: Decoder<string> & Encoder<string>;
  readonly question: Decoder<Question>;
  readonly answer: Decoder<Answer> & Encoder<Answer>;
}

interface Decoder<T> {
  /** Throws if the bytes are invalid. `decode.bytes` is the length of the last decoded part. */
  readonly decode: ((bytes: Buffer, offset: number) => T) & { readonly bytes: number };
}

interface Encoder<T> {
  readonly encode: ((value: T, bytes: Buffer, offset: number) => unknown) & { readonly bytes: number };
  readonly encodingLength: (value: T) => number;
}

/** Reads and writes parts of packets. All offsets are relative to the whole packet, because names point back into it. */
export const parts = packet as unknown as Parts;
