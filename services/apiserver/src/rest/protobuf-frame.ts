import { StatusError } from '@gantry/api';

/**
 * Kubernetes' protobuf envelope around messages that are already encoded: `k8s\0` and a runtime.Unknown. Lists and
 * PartialObjectMetadata are put together from the bytes of single objects, which are never decoded for it.
 */
const MAGIC = Buffer.from('k8s\0', 'latin1');

/** A length-delimited field. */
function field(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

function text(number: number, value: string): Buffer {
  return value === '' ? Buffer.alloc(0) : field(number, Buffer.from(value));
}

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return Buffer.from(out);
}

/** An object message in its envelope. */
function wrap(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  const typeMeta = Buffer.concat([text(1, apiVersion), text(2, kind)]);
  return Buffer.concat([MAGIC, field(1, typeMeta), field(2, message), field(3, EMPTY), field(4, EMPTY)]);
}

const EMPTY = new Uint8Array(0);

/** The object message inside an envelope. */
function unwrap(envelope: Uint8Array): Uint8Array {
  return findField(envelope.subarray(MAGIC.length), 2) ?? EMPTY;
}

/** A list of enveloped objects, in its envelope. */
export function listFrame(
  apiVersion: string,
  kind: string,
  meta: { readonly resourceVersion: string; readonly continueToken: string; readonly remaining: number | undefined },
  items: readonly Uint8Array[],
): Buffer {
  const { resourceVersion, continueToken, remaining } = meta;
  const rest = remaining === undefined ? [] : [varint(4 * 8), varint(remaining)];
  const listMeta = Buffer.concat([text(2, resourceVersion), text(3, continueToken), ...rest]);
  return wrap(apiVersion, kind, Buffer.concat([field(1, listMeta), ...items.map((item) => field(2, unwrap(item)))]));
}

/** Only the metadata of an enveloped object: field 1 of every kind. */
export function partialFrame(apiVersion: string, envelope: Uint8Array): Buffer {
  return wrap(apiVersion, 'PartialObjectMetadata', field(1, findField(unwrap(envelope), 1) ?? EMPTY));
}

/** The last value of a length-delimited field, by walking the message's top level. */
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
