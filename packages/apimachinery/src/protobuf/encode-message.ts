import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { AssertionError } from '@gantry/base';
import { goJson } from '@gantry/objects';
import type { Codec, FieldPlan, MessagePlan } from './message-plan.ts';

type Json = Readonly<Record<string, unknown>>;

/** Writes an object's fields in the order of their numbers. */
export function encodeMessage(writer: BinaryWriter, plan: MessagePlan, object: Json): void {
  for (const field of plan.fields) encodeField(writer, field, field.json === '' ? object : object[field.json]);
}

function encodeField(writer: BinaryWriter, field: FieldPlan, value: unknown): void {
  const { codec, number } = field;
  if (value === undefined || value === null) {
    if (field.always) encodeValue(writer, number, codec, undefined);
    return;
  }
  if (field.repeated) {
    for (const item of value as readonly unknown[]) encodeValue(writer, number, codec, item);
  } else if (codec.kind === 'map') {
    encodeMap(writer, number, codec.values, value as Json);
  } else encodeValue(writer, number, codec, value);
}

function encodeMap(writer: BinaryWriter, number: number, values: Codec, map: Json): void {
  for (const key of Object.keys(map).sort(byBytes)) {
    writer.tag(number, WireType.LengthDelimited).fork();
    encodeValue(writer, 1, { kind: 'string' }, key);
    encodeValue(writer, 2, values, map[key]);
    writer.join();
  }
}

/** UTF-8 byte order, which differs from UTF-16 order outside the basic plane. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** One value with its tag; undefined is the zero value. */
function encodeValue(writer: BinaryWriter, number: number, codec: Codec, value: unknown): void {
  switch (codec.kind) {
    case 'bool':
      writer.tag(number, WireType.Varint).bool(value === true);
      return;
    case 'int32':
    case 'int64':
      writer.tag(number, WireType.Varint).int64((value as number | bigint | undefined | null) ?? 0);
      return;
    case 'double':
      writer.tag(number, WireType.Bit64).double((value as number | undefined | null) ?? 0);
      return;
    case 'string':
      writer.tag(number, WireType.LengthDelimited).string((value as string | undefined | null) ?? '');
      return;
    default:
      writer.tag(number, WireType.LengthDelimited).fork();
      encodeContent(writer, codec, value);
      writer.join();
  }
}

function encodeContent(writer: BinaryWriter, codec: Codec, value: unknown): void {
  switch (codec.kind) {
    case 'bytes':
      writer.raw(Buffer.from((value as string | undefined | null) ?? '', 'base64'));
      return;
    case 'message':
      encodeMessage(writer, codec.plan, (value ?? {}) as Json);
      return;
    case 'time':
    case 'microTime':
      encodeTime(writer, value as string | undefined | null);
      return;
    case 'quantity':
      encodeValue(writer, 1, { kind: 'string' }, value ?? '0');
      return;
    case 'intOrString':
      encodeValue(writer, 1, { kind: 'int32' }, typeof value === 'string' ? 1 : 0);
      encodeValue(writer, 2, { kind: 'int32' }, typeof value === 'number' ? value : 0);
      encodeValue(writer, 3, { kind: 'string' }, typeof value === 'string' ? value : '');
      return;
    case 'rawJson':
      if (value === undefined || value === null) return;
      encodeValue(writer, 1, { kind: 'string' }, goJson(value));
      return;
    case 'stringList':
      for (const item of (value ?? []) as readonly string[]) encodeValue(writer, 1, { kind: 'string' }, item);
      return;
    case 'schemaOr':
      encodeSchemaOr(writer, codec, value);
      return;
    default:
      throw new AssertionError(`no content of ${codec.kind}`);
  }
}

/** Go's zero time is an empty message. */
function encodeTime(writer: BinaryWriter, value: string | undefined | null): void {
  if (value === undefined || value === null || value === '') return;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? '';
  encodeValue(writer, 1, { kind: 'int64' }, Math.floor(Date.parse(value) / 1000));
  encodeValue(writer, 2, { kind: 'int32' }, Number(fraction.slice(0, 9).padEnd(9, '0')));
}

function encodeSchemaOr(writer: BinaryWriter, codec: Codec & { kind: 'schemaOr' }, value: unknown): void {
  const message: Codec = { kind: 'message', plan: codec.plan };
  if (codec.or === 'bool') {
    encodeValue(writer, 1, { kind: 'bool' }, typeof value === 'object' || value === true);
    if (typeof value === 'object') encodeValue(writer, 2, message, value);
  } else if (Array.isArray(value)) {
    const item: Codec = codec.or === 'schemas' ? message : { kind: 'string' };
    for (const one of value) encodeValue(writer, 2, item, one);
  } else if (value !== undefined && value !== null) encodeValue(writer, 1, message, value);
}
