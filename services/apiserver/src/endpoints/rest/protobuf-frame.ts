import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { encodeProtobuf, hasProtobuf, type ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, StatusError } from '@gantry/objects';
import type { ObjectResponse } from '../../cache/object-response.ts';
import { partialMetadata } from './table.ts';

/** Whether a response has no protobuf form. Custom resources have none; the objects of their subresources may have one. */
export function isJsonOnly(definition: ResourceDefinition, response: ObjectResponse): boolean {
  return !hasProtobuf(definition) && response.object.kind === definition.kind;
}

/** The error when a client accepts only protobuf for a custom resource. */
export function noProtobuf(): StatusError {
  return new StatusError(
    'NotAcceptable',
    'object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message',
  );
}

/** The metadata of any object as protobuf, with the envelope. */
export function partialFrameOf(definition: ResourceDefinition, metaApi: string, response: ObjectResponse): Uint8Array {
  const { publishedSchema, fieldAnnotations } = definition;
  if (publishedSchema === undefined && fieldAnnotations === undefined)
    return partialFrame(metaApi, response.protobuf());
  const { metadata } = partialMetadata(definition, response.object) as KubeObject;
  return encodeProtobuf({ kind: 'PartialObjectMetadata', apiVersion: metaApi, metadata });
}

/**
 * Kubernetes' protobuf envelope around encoded messages: `k8s\0` and a runtime.Unknown. Lists and PartialObjectMetadata are built from
 * the encoded bytes of single objects, without decoding them.
 */
const MAGIC = Buffer.from('k8s\0', 'latin1');

const { LengthDelimited, Varint } = WireType;

/** The beginning of an envelope, up to the tag of its content. */
function openEnvelope(apiVersion: string, kind: string): BinaryWriter {
  const writer = new BinaryWriter().raw(MAGIC).tag(1, LengthDelimited).fork();
  writer.tag(1, LengthDelimited).string(apiVersion).tag(2, LengthDelimited).string(kind).join();
  return writer.tag(2, LengthDelimited);
}

/** The end of an envelope. */
function closeEnvelope(writer: BinaryWriter): Uint8Array {
  return writer.raw(CLOSING).finish();
}

/** The empty fields 3 and 4. */
const CLOSING = Uint8Array.of(0x1a, 0, 0x22, 0);

const EMPTY = new Uint8Array(0);

/** The object message inside an envelope. */
function unwrap(envelope: Uint8Array): Uint8Array {
  return findField(envelope.subarray(MAGIC.length), 2) ?? EMPTY;
}

/** Yields the pieces of an encoded list in its envelope. The bytes of the items are not copied. */
export function* listPieces(
  apiVersion: string,
  kind: string,
  meta: { readonly resourceVersion: string; readonly continueToken: string; readonly remaining: number | undefined },
  items: readonly Uint8Array[],
): Generator<Uint8Array> {
  const { resourceVersion, continueToken, remaining } = meta;
  const writer = new BinaryWriter().tag(1, LengthDelimited).fork();
  if (resourceVersion !== '') writer.tag(2, LengthDelimited).string(resourceVersion);
  if (continueToken !== '') writer.tag(3, LengthDelimited).string(continueToken);
  if (remaining !== undefined) writer.tag(4, Varint).int64(remaining);
  const listMeta = writer.join().finish();
  const fields = items.map(itemOf);
  const size = fields.reduce((sum, { length }) => sum + length, listMeta.length);
  yield openEnvelope(apiVersion, kind).uint32(size).raw(listMeta).finish();
  yield* fields;
  yield closeEnvelope(writer);
}

/**
 * The object of an envelope as an item of a list, with its tag. Both have the field number 2, so this is a part of the envelope: behind the
 * magic and the field 1, whose length takes one byte for every kind, and before the two empty fields at the end.
 */
function itemOf(envelope: Uint8Array): Uint8Array {
  return envelope.subarray(MAGIC.length + 2 + (envelope[MAGIC.length + 1] ?? 0), -CLOSING.length);
}

/** The metadata of an object in its envelope. It is field 1 of every kind. */
export function partialFrame(apiVersion: string, envelope: Uint8Array): Uint8Array {
  const metadata = findField(unwrap(envelope), 1) ?? EMPTY;
  const writer = openEnvelope(apiVersion, 'PartialObjectMetadata').fork().tag(1, LengthDelimited).bytes(metadata);
  return closeEnvelope(writer.join());
}

/** The last value of a length-delimited field at the top level of a message. */
function findField(message: Uint8Array, wanted: number): Uint8Array | undefined {
  const reader = new BinaryReader(message);
  let found: Uint8Array | undefined;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === wanted && type === LengthDelimited) found = reader.bytes();
    else reader.skip(type, field);
  }
  return found;
}
