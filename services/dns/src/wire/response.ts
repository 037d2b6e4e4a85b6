import type { Answer } from 'dns-packet';
import type { RecordData } from '../zone/cluster-state.ts';
import { HEADER_BYTES, parts, type Query, type ResponseCode } from './query.ts';

/** The largest response over UDP. This size passes without fragments (DNS flag day 2020). */
export const UDP_PAYLOAD = 1232;
/** The largest UDP response for a client without EDNS (RFC 1035). */
const PLAIN_UDP_PAYLOAD = 512;
const TCP_PAYLOAD = 65_535;
/** How long clients may keep a record in seconds: CoreDNS' default for Kubernetes. */
export const RECORD_TTL = 5;
const OPT_BYTES = 11;
const MAX_LABEL = 63;
const MAX_NAME = 253;
/** A pointer to the question's name, which is always at the same offset. */
const POINTER = Buffer.from([0xc0, HEADER_BYTES]);

const FLAG = { authoritative: 0x04, truncated: 0x02, recursionAvailable: 0x80 } as const;

/** A record and the name that has it. `question` stands for the question's name. */
export interface OwnedRecord {
  readonly owner: 'question' | { readonly name: string };
  readonly data: RecordData | Soa | Foreign;
}

/** A record of the host's resolver, with its own time to live. */
export interface Foreign {
  readonly type: 'foreign';
  readonly record: Answer;
}

/** The start of authority. Its `minimum` tells how long a client may keep a negative answer. */
export interface Soa {
  readonly type: 'SOA';
  readonly server: string;
  readonly mailbox: string;
  readonly serial: number;
}

export interface ResponseContent {
  readonly code: ResponseCode;
  readonly authoritative: boolean;
  /** Read only as far as there is room. */
  readonly answers: Iterable<OwnedRecord>;
  readonly authorities: Iterable<OwnedRecord>;
  /** Omitted if they do not fit. */
  readonly additionals: Iterable<OwnedRecord>;
}

export type Transport = 'udp' | 'tcp';

/** Returns the maximum size of a response in bytes. */
export function sizeLimit({ edns }: Query, transport: Transport): number {
  if (transport === 'tcp') return TCP_PAYLOAD;
  return Math.max(PLAIN_UDP_PAYLOAD, Math.min(UDP_PAYLOAD, edns?.udpPayloadSize ?? PLAIN_UDP_PAYLOAD));
}

/**
 * Encodes a response. Answers that do not fit are omitted, and the packet is marked as truncated. The client then asks again over TCP
 * (RFC 2181, section 9).
 */
export function encodeResponse(query: Query, content: ResponseContent, transport: Transport): Buffer {
  const limit = sizeLimit(query, transport) - (query.edns === undefined ? 0 : OPT_BYTES);
  const question = query.bytes.subarray(HEADER_BYTES, query.questionEnd);
  let room = limit - HEADER_BYTES - question.length;
  const take = (records: Iterable<OwnedRecord>): { readonly encoded: Buffer[]; readonly isWhole: boolean } => {
    const encoded: Buffer[] = [];
    for (const record of records) {
      const bytes = encodeRecord(record);
      if (bytes.length > room) return { encoded, isWhole: false };
      room -= bytes.length;
      encoded.push(bytes);
    }
    return { encoded, isWhole: true };
  };
  const answers = take(content.answers);
  const authorities = answers.isWhole ? take(content.authorities) : { encoded: [], isWhole: true };
  const additionals = answers.isWhole && authorities.isWhole ? take(content.additionals).encoded : [];
  const opt = query.edns === undefined ? [] : [encodeOpt(content.code)];
  const header = encodeHeader(query.bytes, {
    code: content.code,
    authoritative: content.authoritative,
    truncated: !answers.isWhole || !authorities.isWhole,
    counts: [1, answers.encoded.length, authorities.encoded.length, additionals.length + opt.length],
  });
  return Buffer.concat([header, question, ...answers.encoded, ...authorities.encoded, ...additionals, ...opt]);
}

/** Encodes a response to a packet whose question cannot be repeated. It consists of the header only. The packet has at least a header. */
export function encodeRefusal(bytes: Buffer, code: ResponseCode): Buffer {
  return encodeHeader(bytes, { code, authoritative: false, truncated: false, counts: [0, 0, 0, 0] });
}

/** Whether a name can be written: it has no empty labels and no long labels. */
export function isWritable(name: string): boolean {
  const labels = name.split('.');
  return name.length <= MAX_NAME && labels.every((label) => label !== '' && label.length <= MAX_LABEL);
}

interface Header {
  readonly code: ResponseCode;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly counts: readonly [number, number, number, number];
}

function encodeHeader(query: Buffer, { code, authoritative, truncated, counts }: Header): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  const [asked, also] = [query[2] ?? 0, query[3] ?? 0];
  // Opcode and "recursion desired" are copied from the question.
  header[2] = 0x80 | (asked & 0x79) | (authoritative ? FLAG.authoritative : 0) | (truncated ? FLAG.truncated : 0);
  // "Checking disabled" is copied too.
  header[3] = FLAG.recursionAvailable | (also & 0x10) | (code & 0x0f);
  for (const [i, count] of counts.entries()) header.writeUInt16BE(count, HEADER_BYTES - 8 + i * 2);
  return header;
}

/** If the owner is the question's name, it is written as a pointer, because the library has no compression. */
function encodeRecord({ owner, data }: OwnedRecord): Buffer {
  const name = owner === 'question' ? '.' : owner.name;
  const answer = toAnswer(name, data);
  const bytes = Buffer.allocUnsafe(parts.answer.encodingLength(answer));
  parts.answer.encode(answer, bytes, 0);
  const encoded = bytes.subarray(0, parts.answer.encode.bytes);
  return owner === 'question' ? Buffer.concat([POINTER, encoded.subarray(1)]) : encoded;
}

function toAnswer(name: string, data: OwnedRecord['data']): Answer {
  const owned = { name, class: 'IN', ttl: RECORD_TTL } as const;
  switch (data.type) {
    case 'A':
      return { ...owned, type: 'A', data: data.address };
    case 'SRV': {
      const { priority, weight, port, target } = data;
      return { ...owned, type: 'SRV', data: { priority, weight, port, target } };
    }
    case 'TXT':
      return { ...owned, type: 'TXT', data: [data.text] };
    case 'SOA': {
      const { server: mname, mailbox: rname, serial } = data;
      const times = { refresh: 7200, retry: 1800, expire: 86_400, minimum: RECORD_TTL };
      return { ...owned, type: 'SOA', data: { mname, rname, serial, ...times } };
    }
    case 'foreign':
      return { ...data.record, name };
    default:
      return { ...owned, type: data.type, data: data.target };
  }
}

function encodeOpt(code: ResponseCode): Buffer {
  const bytes = Buffer.alloc(OPT_BYTES);
  bytes.writeUInt16BE(41, 1);
  bytes.writeUInt16BE(UDP_PAYLOAD, 3);
  bytes.writeUInt8(code >> 4, 5);
  return bytes;
}

export const EMPTY_CONTENT = { authoritative: false, answers: [], authorities: [], additionals: [] } as const;

/** Encodes a response that has only a code. */
export function encodeCode(query: Query, code: ResponseCode, transport: Transport): Buffer {
  return encodeResponse(query, { ...EMPTY_CONTENT, code }, transport);
}
