import type { Answer } from 'dns-packet';
import { CLASS_IN, HEADER_BYTES, parts, type Query, TYPES } from '../wire/query.ts';
import { sizeLimit, type Transport, UDP_PAYLOAD } from '../wire/response.ts';

const OPT_BYTES = 11;
const SECTIONS = ['answer', 'authority', 'additional'] as const;

/** A record of a received response. */
export interface ReceivedRecord {
  readonly section: (typeof SECTIONS)[number];
  readonly type: number;
  readonly start: number;
  /** The offset of the record's time to live. */
  readonly ttlAt: number;
  readonly end: number;
}

/** A response of the host's resolver. Its names point into its bytes. */
export interface Received {
  readonly bytes: Buffer;
  readonly questionEnd: number;
  /** Without OPT records and the records after them. */
  readonly records: readonly ReceivedRecord[];
  readonly code: number;
  readonly isTruncated: boolean;
}

/** The parts of a query that determine the host's response. Two queries with the same key share one response. */
export function forwardKey({ bytes, questionEnd, edns }: Query): string {
  const question = Buffer.from(bytes.subarray(HEADER_BYTES, questionEnd));
  lowerCase(question);
  return `${edns?.wantsSignatures === true ? 'd' : '-'}${(bytes[3] ?? 0) & 0x10}${question.toString('latin1')}`;
}

/** Encodes the query for the host's resolver, with another id and with EDNS. */
export function encodeUpstreamQuery(query: Query, id: number): Buffer {
  const { bytes, questionEnd, edns } = query;
  const packet = Buffer.alloc(questionEnd + OPT_BYTES);
  bytes.copy(packet, HEADER_BYTES, HEADER_BYTES, questionEnd);
  packet.writeUInt16BE(id, 0);
  // Recursion is desired. "Checking disabled" is the client's value.
  packet[2] = 0x01;
  packet[3] = (bytes[3] ?? 0) & 0x10;
  packet.writeUInt16BE(1, 4);
  packet.writeUInt16BE(1, 10);
  packet.writeUInt16BE(TYPES.OPT, questionEnd + 1);
  packet.writeUInt16BE(UDP_PAYLOAD, questionEnd + 3);
  if (edns?.wantsSignatures === true) packet.writeUInt16BE(0x8000, questionEnd + 7);
  return packet;
}

/** Returns a query for another name, with the type of the client's query. The name must be writable. */
export function aliasQuery(query: Query, target: string): Query {
  const bytes = Buffer.alloc(HEADER_BYTES + target.length + 6);
  query.bytes.copy(bytes, 0, 0, 4);
  parts.name.encode(target, bytes, HEADER_BYTES);
  const nameEnd = HEADER_BYTES + parts.name.encode.bytes;
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt16BE(query.type, nameEnd);
  bytes.writeUInt16BE(CLASS_IN, nameEnd + 2);
  return { ...query, bytes, questionEnd: nameEnd + 4, name: target };
}

/** Returns the answers of a response that was kept for this number of seconds. Throws if the library cannot read a record. */
export function receivedAnswers({ bytes, records }: Received, keptSeconds: number): readonly Answer[] {
  return records
    .filter(({ section }) => section === 'answer')
    .map(({ start, ttlAt }) => {
      const ttl = Math.max(0, bytes.readUInt32BE(ttlAt) - keptSeconds);
      return { ...parts.answer.decode(bytes, start), ttl } as Answer;
    });
}

/** Reads the response to a query. Returns undefined if the packet is no response to it. Never throws. */
export function readReceived(bytes: Buffer, id: number, query: Query): Received | undefined {
  if (bytes.length < query.questionEnd || bytes.readUInt16BE(0) !== id) return undefined;
  if (((bytes[2] ?? 0) & 0xf8) !== 0x80 || bytes.readUInt16BE(4) !== 1) return undefined;
  if (!isSameQuestion(bytes, query)) return undefined;
  try {
    const records = readRecords(bytes, query.questionEnd);
    const flags = bytes[2] ?? 0;
    const { questionEnd } = query;
    return { bytes, questionEnd, records, code: (bytes[3] ?? 0) & 0x0f, isTruncated: (flags & 0x02) !== 0 };
  } catch {
    // Any error of the library means that the response is invalid.
    return undefined;
  }
}

function readRecords(bytes: Buffer, from: number): readonly ReceivedRecord[] {
  const records: ReceivedRecord[] = [];
  let at = from;
  for (const [index, section] of SECTIONS.entries()) {
    const count = bytes.readUInt16BE(6 + index * 2);
    for (let i = 0; i < count; i++) {
      parts.name.decode(bytes, at);
      const typeAt = at + parts.name.decode.bytes;
      const type = bytes.readUInt16BE(typeAt);
      const start = at;
      at = typeAt + 10 + bytes.readUInt16BE(typeAt + 8);
      if (at > bytes.length) throw new RangeError('a record goes beyond the packet');
      if (type === TYPES.OPT) return records;
      records.push({ section, type, start, ttlAt: typeAt + 4, end: at });
    }
  }
  return records;
}

/** Returns how long a response may be kept in seconds: the shortest time to live of its records. */
export function lifetime({ bytes, records, code }: Received): number {
  const relevant = records.filter(({ section }) => section !== 'additional');
  // RFC 2308: a negative response without a SOA is not kept.
  const isNegative = code !== 0 || !relevant.some(({ section }) => section === 'answer');
  if (isNegative && !relevant.some(({ type }) => type === TYPES.SOA)) return 0;
  const times = relevant.map(({ ttlAt }) => bytes.readUInt32BE(ttlAt));
  const minima = isNegative
    ? relevant.filter(({ type }) => type === TYPES.SOA).map(({ end }) => bytes.readUInt32BE(end - 4))
    : [];
  return Math.min(...times, ...minima);
}

/** Returns the response for the client, after it was kept for this number of seconds: as many whole records as fit. */
export function relay(received: Received, query: Query, transport: Transport, keptSeconds: number): Buffer {
  const { bytes, records, questionEnd } = received;
  const limit = sizeLimit(query, transport) - (query.edns === undefined ? 0 : OPT_BYTES);
  const fitting = records.filter(({ end }) => end <= limit);
  const end = fitting.at(-1)?.end ?? questionEnd;
  const missing = records.slice(fitting.length).some(({ section }) => section !== 'additional');
  const packet = Buffer.alloc(end + (query.edns === undefined ? 0 : OPT_BYTES));
  bytes.copy(packet, 0, 0, end);
  query.bytes.copy(packet, 0, 0, 2);
  query.bytes.copy(packet, HEADER_BYTES, HEADER_BYTES, questionEnd);
  const flags = bytes[2] ?? 0;
  packet[2] = 0x80 | ((query.bytes[2] ?? 0) & 0x01) | (flags & 0x04) | (missing || received.isTruncated ? 0x02 : 0);
  packet[3] = 0x80 | ((bytes[3] ?? 0) & 0x2f) | ((query.bytes[3] ?? 0) & 0x10);
  for (const [index, section] of SECTIONS.entries()) {
    packet.writeUInt16BE(fitting.filter((one) => one.section === section).length, 6 + index * 2);
  }
  for (const { ttlAt } of fitting) packet.writeUInt32BE(Math.max(0, bytes.readUInt32BE(ttlAt) - keptSeconds), ttlAt);
  if (query.edns !== undefined) {
    packet.writeUInt16BE(packet.readUInt16BE(10) + 1, 10);
    packet.writeUInt16BE(TYPES.OPT, end + 1);
    packet.writeUInt16BE(UDP_PAYLOAD, end + 3);
    if (query.edns.wantsSignatures) packet.writeUInt16BE(0x8000, end + 7);
  }
  return packet;
}

function isSameQuestion(bytes: Buffer, query: Query): boolean {
  const got = Buffer.from(bytes.subarray(HEADER_BYTES, query.questionEnd));
  const asked = Buffer.from(query.bytes.subarray(HEADER_BYTES, query.questionEnd));
  lowerCase(got);
  lowerCase(asked);
  return got.equals(asked);
}

/** The lengths of labels are smaller than the letters' codes. The last four bytes are type and class. */
function lowerCase(question: Buffer): void {
  for (let i = 0; i < question.length - 4; i++) {
    const byte = question[i] ?? 0;
    if (byte >= 0x41 && byte <= 0x5a) question[i] = byte + 0x20;
  }
}
