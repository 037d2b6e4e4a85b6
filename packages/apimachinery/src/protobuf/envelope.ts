import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { DecodeError, decodeStruct } from '../values/decode-value.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { type KubeObject, StatusError } from '@gantry/objects';
import { hasSchema, schemaOf } from '../schema/type-schema.ts';
import { decodeMessage } from './decode-message.ts';
import { encodeMessage } from './encode-message.ts';
import { planOfKind, schemaOfKind } from './message-plan.ts';
import { LENGTH, WireError, WireReader } from './wire.ts';

const PREFIX = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

/** Kind and version of an envelope's content, for envelopes without them. */
export interface KindName {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * An object as `application/vnd.kubernetes.protobuf`, including the envelope. Throws StatusError NotAcceptable for a kind without a
 * protobuf form, such as Table.
 */
export function encodeProtobuf(object: KubeObject | (KindName & object)): Uint8Array {
  const plan = planOfKind(object);
  if (plan === undefined)
    throw new StatusError('NotAcceptable', `${object.apiVersion}, Kind=${object.kind} has no protobuf form`);
  const { LengthDelimited } = WireType;
  const writer = new BinaryWriter().raw(PREFIX).tag(1, LengthDelimited).fork();
  writer.tag(1, LengthDelimited).string(object.apiVersion).tag(2, LengthDelimited).string(object.kind).join();
  writer.tag(2, LengthDelimited).fork();
  encodeMessage(writer, plan, object as Record<string, unknown>);
  return writer.join().tag(3, LengthDelimited).string('').tag(4, LengthDelimited).string('').finish();
}

/** One event of a protobuf watch stream: four bytes for the length, then a WatchEvent that contains the encoded object. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const { LengthDelimited } = WireType;
  const event = new BinaryWriter().tag(1, LengthDelimited).string(type).tag(2, LengthDelimited).fork();
  const bytes = event.tag(1, LengthDelimited).bytes(object).join().finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/**
 * The object of an envelope, in canonical form and normalised shape. `fallback` gives kind and version when the envelope does not. Throws
 * StatusError BadRequest.
 */
export function decodeProtobuf(bytes: Uint8Array, fallback: KindName = { apiVersion: '', kind: '' }): KubeObject {
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes);
    return decodeContent({ apiVersion: apiVersion || fallback.apiVersion, kind: kind || fallback.kind }, raw);
  } catch (error) {
    if (error instanceof WireError || error instanceof DecodeError) throw StatusError.badRequest(error.message);
    throw error;
  }
}

function openEnvelope(bytes: Uint8Array): KindName & { raw: Uint8Array } {
  if (!PREFIX.every((byte, index) => bytes[index] === byte)) {
    throw StatusError.badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  }
  const out: KindName & { raw: Uint8Array } = { apiVersion: '', kind: '', raw: new Uint8Array() };
  const reader = new WireReader(bytes.subarray(PREFIX.length));
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (wireType !== LENGTH) reader.skip(wireType);
    else if (field === 1) Object.assign(out, readTypeMeta(reader.bytes()));
    else if (field === 2) out.raw = reader.bytes();
    else reader.bytes();
  }
  return out;
}

function readTypeMeta(bytes: Uint8Array): Partial<KindName> {
  const reader = new WireReader(bytes);
  const out: { apiVersion?: string; kind?: string } = {};
  while (!reader.done) {
    const { field, wireType } = reader.tag();
    if (wireType !== LENGTH) reader.skip(wireType);
    else if (field === 1) out.apiVersion = reader.bytes().toString();
    else if (field === 2) out.kind = reader.bytes().toString();
    else reader.bytes();
  }
  return out;
}

function decodeContent(name: KindName, raw: Uint8Array): KubeObject {
  const plan = planOfKind(name);
  if (plan === undefined)
    throw StatusError.badRequest(`no kind "${name.kind}" is registered for version "${name.apiVersion}"`);
  const content = { ...decodeMessage(plan, raw), ...name };
  const schema = schemaOfKind(name);
  if (schema === undefined || !hasSchema(schema)) return content as KubeObject;
  const { value } = decodeStruct(schemaOf(schema), content);
  return normaliseShape({ ...value, ...name }, schema) as KubeObject;
}
