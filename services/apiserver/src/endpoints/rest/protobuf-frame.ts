import { encodeProtobuf, hasProtobuf, type ResourceDefinition, varint } from '@gantry/apimachinery';
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

/** A length-delimited field. */
function field(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

function text(number: number, value: string): Buffer {
  return value === '' ? Buffer.alloc(0) : field(number, Buffer.from(value));
}

function typeMeta(apiVersion: string, kind: string): Buffer {
  return Buffer.concat([text(1, apiVersion), text(2, kind)]);
}

/** An object message in its envelope. */
function wrap(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  return Buffer.concat([
    MAGIC,
    field(1, typeMeta(apiVersion, kind)),
    field(2, message),
    field(3, EMPTY),
    field(4, EMPTY),
  ]);
}

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
  const rest = remaining === undefined ? [] : [varint(4 * 8), varint(remaining)];
  const listMeta = field(1, Buffer.concat([text(2, resourceVersion), text(3, continueToken), ...rest]));
  const messages = items.map(unwrap);
  const size = messages.reduce((sum, { length }) => sum + 1 + varint(length).length + length, listMeta.length);
  yield Buffer.concat([MAGIC, field(1, typeMeta(apiVersion, kind)), LENGTH_OF_2, varint(size), listMeta]);
  for (const message of messages) {
    yield Buffer.concat([LENGTH_OF_2, varint(message.length)]);
    yield message;
  }
  yield Buffer.concat([field(3, EMPTY), field(4, EMPTY)]);
}

/** Tag of field 2, length-delimited. */
const LENGTH_OF_2 = varint(2 * 8 + 2);

/** The metadata of an object in its envelope. It is field 1 of every kind. */
export function partialFrame(apiVersion: string, envelope: Uint8Array): Buffer {
  return wrap(apiVersion, 'PartialObjectMetadata', field(1, findField(unwrap(envelope), 1) ?? EMPTY));
}

/** The last value of a length-delimited field at the top level of a message. */
function findField(message: Uint8Array, wanted: number): Uint8Array | undefined {
  let at = 0;
  let found: Uint8Array | undefined;
  const readVarint = (): number => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = message[at++];
      if (byte === undefined) throw StatusError.badRequest('truncated protobuf message');
      value += (byte % 128) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  while (at < message.length) {
    const tag = readVarint();
    switch (tag % 8) {
      case 0:
        readVarint();
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = readVarint();
        if (Math.floor(tag / 8) === wanted) found = message.subarray(at, at + length);
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw StatusError.badRequest('malformed protobuf message');
    }
  }
  return found;
}
