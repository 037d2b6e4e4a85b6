import { ValueCount } from '../values/document-limits.ts';
import { parseJson } from '../values/exact-number.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { setMember } from '@gantry/objects';
import type { Codec, FieldPlan, MessagePlan } from './message-plan.ts';
import { FIXED64, LENGTH, VARINT, WireError, WireReader } from './wire.ts';

type Json = Record<string, unknown>;

/** The maximum nesting depth of messages, far below the stack limit. */
const MAX_DEPTH = 200;

/** The nesting depth of a message, and the field count of all messages. */
interface Nesting {
  readonly level: number;
  readonly fields: ValueCount;
}

function outermost(): Nesting {
  return { level: 0, fields: new ValueCount() };
}

function deeper({ level, fields }: Nesting): Nesting {
  return { level: level + 1, fields };
}

/**
 * Decodes a message to JSON. Unknown fields are skipped; zero values are kept. Throws WireError, or StatusError RequestEntityTooLarge for
 * more fields than a request may have values.
 */
export function decodeMessage(plan: MessagePlan, bytes: Uint8Array, into: Json = {}, depth = outermost()): Json {
  if (depth.level > MAX_DEPTH) throw new WireError('exceeded max depth');
  const reader = new WireReader(bytes);
  while (!reader.done) {
    depth.fields.add(1);
    const { field: number, wireType } = reader.tag();
    const field = plan.byNumber(number);
    if (field === undefined) reader.skip(wireType);
    else decodeField(reader, { field, wireType, depth }, into);
  }
  return into;
}

interface At {
  readonly field: FieldPlan;
  readonly wireType: number;
  readonly depth: Nesting;
}

function decodeField(reader: WireReader, { field, wireType, depth }: At, into: Json): void {
  const { codec, json } = field;
  const wanted = wireTypeOf(codec);
  if (wireType !== wanted) throw new WireError(`proto: wrong wireType = ${wireType} for field ${json}`);
  if (json === '' && codec.kind === 'message') {
    decodeMessage(codec.plan, reader.bytes(), into, deeper(depth));
  } else if (codec.kind === 'map') {
    // One for the key and one for the value.
    depth.fields.add(2);
    const map = (into[json] ??= {}) as Json;
    const { key, value } = decodeEntry(codec.values, reader.bytes(), deeper(depth));
    setMember(map, key, value);
  } else if (field.repeated) {
    const list = (into[json] ??= []) as unknown[];
    list.push(decodeValue(reader, codec, depth));
  } else into[json] = decodeValue(reader, codec, depth);
}

function wireTypeOf(codec: Codec): number {
  switch (codec.kind) {
    case 'bool':
    case 'int32':
    case 'int64':
      return VARINT;
    case 'double':
      return FIXED64;
    default:
      return LENGTH;
  }
}

function decodeEntry(values: Codec, bytes: Uint8Array, depth: Nesting): { key: string; value: unknown } {
  const reader = new WireReader(bytes);
  let key = '';
  let value: unknown;
  let hasValue = false;
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === LENGTH) key = decodeText(reader.bytes());
    else if (field === 2 && wireType === wireTypeOf(values)) {
      value = decodeValue(reader, values, depth);
      hasValue = true;
    } else reader.skip(wireType);
  }
  return { key, value: hasValue ? value : values.kind === 'message' ? {} : '' };
}

function decodeText(bytes: Buffer): string {
  return bytes.toString('utf8');
}

function decodeValue(reader: WireReader, codec: Codec, depth: Nesting): unknown {
  switch (codec.kind) {
    case 'bool':
      return Number(reader.varint()) !== 0;
    case 'int32':
      return asInt32(reader.varint());
    case 'int64':
      return asInt64(reader.varint());
    case 'double':
      return reader.double();
    case 'string':
      return decodeText(reader.bytes());
    case 'bytes':
      return reader.bytes().toString('base64');
    case 'message':
      return decodeMessage(codec.plan, reader.bytes(), {}, deeper(depth));
    case 'time':
      return decodeTime(reader.bytes(), 0);
    case 'microTime':
      return decodeTime(reader.bytes(), 6);
    case 'quantity':
      return decodeText(firstBytes(reader.bytes()) ?? Buffer.from('0'));
    case 'intOrString':
      return decodeIntOrString(reader.bytes());
    case 'rawJson':
      return decodeRawJson(firstBytes(reader.bytes()));
    case 'stringList':
      return allBytes(reader.bytes()).map(decodeText);
    case 'schemaOr':
      return decodeSchemaOr(codec, reader.bytes(), depth);
    case 'map':
      throw new WireError('proto: map within map');
  }
}

function asInt32(value: number | bigint): number {
  return typeof value === 'number' && value <= 0x7fffffff ? value : Number(BigInt.asIntN(32, BigInt(value)));
}

function asInt64(unsigned: number | bigint): number | bigint {
  if (typeof unsigned === 'number') return unsigned;
  const value = BigInt.asIntN(64, unsigned);
  const double = Number(value);
  return String(double) === value.toString() ? double : value;
}

/** The values of field 1 of a message that has no other field. */
function allBytes(message: Uint8Array): Buffer[] {
  const reader = new WireReader(message);
  const out: Buffer[] = [];
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === LENGTH) out.push(reader.bytes());
    else reader.skip(wireType);
  }
  return out;
}

function firstBytes(message: Uint8Array): Buffer | undefined {
  return allBytes(message).at(-1);
}

function decodeRawJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    return parseJson(bytes.toString('utf8'));
  } catch (error) {
    throw new WireError(`embedded JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function numbers(message: Uint8Array): { values: Map<number, number | bigint>; text: string } {
  const reader = new WireReader(message);
  const values = new Map<number, number | bigint>();
  let text = '';
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (wireType === VARINT) values.set(field, reader.varint());
    else if (field === 3 && wireType === LENGTH) text = decodeText(reader.bytes());
    else reader.skip(wireType);
  }
  return { values, text };
}

function decodeIntOrString(message: Uint8Array): number | string {
  const { values, text } = numbers(message);
  return Number(values.get(1) ?? 0) === 1 ? text : asInt32(values.get(2) ?? 0);
}

const JSON_SCHEMA = 'apiextensions.v1.JSONSchemaProps';

function decodeSchemaOr(codec: Codec & { kind: 'schemaOr' }, message: Uint8Array, depth: Nesting): unknown {
  const reader = new WireReader(message);
  let schema: unknown;
  let allows = false;
  const list: unknown[] = [];
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    const isSchema = codec.or === 'bool' ? field === 2 : field === 1 || codec.or === 'schemas';
    if (wireType === VARINT && codec.or === 'bool' && field === 1) allows = Number(reader.varint()) !== 0;
    else if (wireType !== LENGTH || field > 2) reader.skip(wireType);
    else if (!isSchema) list.push(decodeText(reader.bytes()));
    else {
      const decoded = normaliseShape(decodeMessage(codec.plan, reader.bytes(), {}, deeper(depth)), JSON_SCHEMA);
      if (codec.or === 'schemas' && field === 2) list.push(decoded);
      else schema = decoded;
    }
  }
  return schema ?? (codec.or === 'bool' ? allows : list);
}

const MAX_SECONDS = 253_402_300_799;
const MIN_SECONDS = -62_135_596_800;

function decodeTime(message: Buffer, decimals: 0 | 6): string | null {
  if (message.length === 0) return null;
  const { values } = numbers(message);
  const seconds = asInt64(values.get(1) ?? 0);
  const nanos = asInt32(values.get(2) ?? 0);
  if (seconds > MAX_SECONDS || seconds < MIN_SECONDS) throw new WireError('proto: time out of range');
  if (Number(seconds) === MIN_SECONDS && nanos === 0) return null;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, -5);
  return decimals === 0 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}
