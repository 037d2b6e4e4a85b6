import { AssertionError } from '@gantry/base';
import { goJson } from '@gantry/objects';
import type { Codec, FieldPlan, MessagePlan } from './message-plan.ts';
import { type BackwardWriter, FIXED64, LENGTH, VARINT } from './wire.ts';

type Json = Readonly<Record<string, unknown>>;

/** Writes an object's fields, highest number first, because the writer works backward. */
export function encodeMessage(writer: BackwardWriter, plan: MessagePlan, object: Json): void {
  const { fields } = plan;
  for (let index = fields.length - 1; index >= 0; index--) {
    const field = fields[index];
    if (field !== undefined) encodeField(writer, field, field.json === '' ? object : object[field.json]);
  }
}

function encodeField(writer: BackwardWriter, field: FieldPlan, value: unknown): void {
  const { codec, number } = field;
  if (value === undefined || value === null) {
    if (field.always) encodeValue(writer, number, codec, undefined);
    return;
  }
  if (field.repeated) {
    const items = value as readonly unknown[];
    for (let index = items.length - 1; index >= 0; index--) encodeValue(writer, number, codec, items[index]);
  } else if (codec.kind === 'map') {
    encodeMap(writer, number, codec.values, value as Json);
  } else encodeValue(writer, number, codec, value);
}

function encodeMap(writer: BackwardWriter, number: number, values: Codec, map: Json): void {
  const keys = Object.keys(map).sort(byBytes);
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] ?? '';
    const before = writer.size;
    encodeValue(writer, 2, values, map[key]);
    encodeValue(writer, 1, { kind: 'string' }, key);
    writer.varint(writer.size - before);
    writer.tag(number, LENGTH);
  }
}

/** UTF-8 byte order, which differs from UTF-16 order outside the basic plane. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** One value with its tag; undefined is the zero value. */
function encodeValue(writer: BackwardWriter, number: number, codec: Codec, value: unknown): void {
  switch (codec.kind) {
    case 'bool':
      writer.byte(value === true ? 1 : 0);
      writer.tag(number, VARINT);
      return;
    case 'int32':
    case 'int64':
      writer.varint((value as number | bigint | undefined | null) ?? 0);
      writer.tag(number, VARINT);
      return;
    case 'double':
      writer.double((value as number | undefined | null) ?? 0);
      writer.tag(number, FIXED64);
      return;
    default: {
      const before = writer.size;
      encodeContent(writer, codec, value);
      writer.varint(writer.size - before);
      writer.tag(number, LENGTH);
    }
  }
}

function encodeContent(writer: BackwardWriter, codec: Codec, value: unknown): void {
  switch (codec.kind) {
    case 'string':
      writer.string((value as string | undefined | null) ?? '');
      return;
    case 'bytes':
      writer.bytes(Buffer.from((value as string | undefined | null) ?? '', 'base64'));
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
      encodeValue(writer, 3, { kind: 'string' }, typeof value === 'string' ? value : '');
      encodeValue(writer, 2, { kind: 'int32' }, typeof value === 'number' ? value : 0);
      encodeValue(writer, 1, { kind: 'int32' }, typeof value === 'string' ? 1 : 0);
      return;
    case 'rawJson':
      if (value === undefined || value === null) return;
      encodeValue(writer, 1, { kind: 'string' }, goJson(value));
      return;
    case 'stringList': {
      const items = (value ?? []) as readonly string[];
      for (let index = items.length - 1; index >= 0; index--) encodeValue(writer, 1, { kind: 'string' }, items[index]);
      return;
    }
    case 'schemaOr':
      encodeSchemaOr(writer, codec, value);
      return;
    case 'map':
    case 'bool':
    case 'int32':
    case 'int64':
    case 'double':
      throw new AssertionError(`no content of ${codec.kind}`);
  }
}

/** Go's zero time is an empty message. */
function encodeTime(writer: BackwardWriter, value: string | undefined | null): void {
  if (value === undefined || value === null || value === '') return;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? '';
  encodeValue(writer, 2, { kind: 'int32' }, Number(fraction.slice(0, 9).padEnd(9, '0')));
  encodeValue(writer, 1, { kind: 'int64' }, Math.floor(Date.parse(value) / 1000));
}

function encodeSchemaOr(writer: BackwardWriter, codec: Codec & { kind: 'schemaOr' }, value: unknown): void {
  const message: Codec = { kind: 'message', plan: codec.plan };
  if (codec.or === 'bool') {
    if (typeof value === 'object') encodeValue(writer, 2, message, value);
    encodeValue(writer, 1, { kind: 'bool' }, typeof value === 'object' || value === true);
  } else if (Array.isArray(value)) {
    const item: Codec = codec.or === 'schemas' ? message : { kind: 'string' };
    for (let index = value.length - 1; index >= 0; index--) encodeValue(writer, 2, item, value[index]);
  } else if (value !== undefined && value !== null) encodeValue(writer, 1, message, value);
}
