import { type ResourceVersion, type StoredObject, StoreError } from './object-store.ts';
import { keyIdOf, type Sealing } from './sealing.ts';
import { parseJson } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { KeyValue } from '@gantry/etcd';
import { versionOf } from './keys.ts';

/** Decodes the object of a key and sets its resourceVersion. */
export function readStored(kv: KeyValue, sealing: Sealing): StoredObject {
  const envelope = decodeEnvelope(kv.key, kv.value, sealing);
  const resourceVersion = versionOf(kv.modRevision, envelope.index);
  const object = parseObject(kv.key, envelope.payload, resourceVersion);
  return { key: kv.key, resourceVersion, object, bytes: envelope.payload.length };
}

function parseObject(key: string, payload: Uint8Array, resourceVersion: ResourceVersion): JsonObject {
  const object = parsePayload(key, payload);
  const metadata = object['metadata'];
  if (metadata === null || typeof metadata !== 'object' || Array.isArray(metadata)) {
    object['metadata'] = { resourceVersion: String(resourceVersion) };
  } else metadata['resourceVersion'] = String(resourceVersion);
  return object;
}

function parsePayload(key: string, payload: Uint8Array): JsonObject {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8');
  try {
    return parseJson(text) as JsonObject;
  } catch (error) {
    throw new StoreError('unavailable', `${key} does not hold a JSON object`, { cause: error });
  }
}

/**
 * The stored form of an object in etcd, big endian:
 *
 * | bytes | what |
 * | --- | --- |
 * | 1 | format version, 1 |
 * | 1 | sealing: 0 plain JSON, 1 sealed with AES-256-GCM (`sealing.ts`); other values are reserved for a key management service |
 * | 1 | index of the write in its transaction |
 * | 1 | zero, reserved |
 * | 2 | length of the whole header, so that later versions can add to it |
 * | 16 | write id |
 * | 8 | epoch of the writer's fence, 0 without one |
 * | 1 + n | writer's name, UTF-8 |
 * | 1 + n | writer's election key, UTF-8, empty without a fence |
 * | 1 + n | writer's incarnation, UTF-8, empty without a fence |
 * | rest | the object in its storage version as JSON, without `metadata.resourceVersion`; sealed if the second byte is 1 |
 */
export interface Envelope {
  readonly index: number;
  readonly writeId: Uint8Array;
  readonly writer: string;
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
  /** The object's JSON. If it was not sealed, this is a view of the decoded bytes, not a copy. */
  readonly payload: Uint8Array;
}

export const WRITE_ID_BYTES = 16;
const FORMAT_VERSION = 1;
const PLAIN = 0;
const SEALED = 1;
const FIXED_BYTES = 6 + WRITE_ID_BYTES + 8;
const MAX_TEXT_BYTES = 255;

/** Encodes the value that is stored at `key`. */
export function encodeEnvelope(key: string, envelope: Envelope, sealing: Sealing): Buffer {
  if (sealing.seals(key)) {
    const header = encodeHeader(envelope, SEALED, 0);
    return Buffer.concat([header, sealing.seal(key, header, envelope.payload)]);
  }
  const { payload } = envelope;
  const out = encodeHeader(envelope, PLAIN, payload.length);
  out.set(payload, out.length - payload.length);
  return out;
}

/** The header, followed by `room` bytes for the payload. */
function encodeHeader(envelope: Envelope, form: number, room: number): Buffer {
  const texts = [envelope.writer, envelope.electionKey, envelope.incarnation].map((text) =>
    Buffer.from(text).subarray(0, MAX_TEXT_BYTES),
  );
  const headerBytes = FIXED_BYTES + texts.reduce((sum, text) => sum + 1 + text.length, 0);
  const out = Buffer.allocUnsafe(headerBytes + room);
  out[0] = FORMAT_VERSION;
  out[1] = form;
  out[2] = envelope.index;
  out[3] = 0;
  out.writeUInt16BE(headerBytes, 4);
  out.set(envelope.writeId, 6);
  out.writeBigUInt64BE(BigInt(envelope.epoch), 6 + WRITE_ID_BYTES);
  let at = FIXED_BYTES;
  for (const text of texts) {
    out[at] = text.length;
    out.set(text, at + 1);
    at += 1 + text.length;
  }
  return out;
}

/** Inverse of `encodeEnvelope`. Throws a StoreError for an unknown format. */
export function decodeEnvelope(key: string, bytes: Uint8Array, sealing: Sealing): Envelope {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < FIXED_BYTES || buffer[0] !== FORMAT_VERSION || (buffer[1] ?? 0) > SEALED) {
    throw new StoreError('unavailable', `${key} is stored in a format that this version cannot read`);
  }
  const headerBytes = buffer.readUInt16BE(4);
  const texts: string[] = [];
  let at = FIXED_BYTES;
  for (let i = 0; i < 3; i++) {
    const length = buffer[at] ?? 0;
    texts.push(buffer.toString('utf8', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const [writer = '', electionKey = '', incarnation = ''] = texts;
  return {
    index: buffer[2] ?? 0,
    writeId: buffer.subarray(6, 6 + WRITE_ID_BYTES),
    epoch: Number(buffer.readBigUInt64BE(6 + WRITE_ID_BYTES)),
    writer,
    electionKey,
    incarnation,
    payload:
      buffer[1] === SEALED
        ? sealing.open(key, buffer.subarray(0, headerBytes), buffer.subarray(headerBytes))
        : buffer.subarray(headerBytes),
  };
}

/** The id of the key that sealed a stored value; undefined for a value in plain text. */
export function sealedWith(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer[1] === SEALED ? keyIdOf(buffer.subarray(buffer.readUInt16BE(4))) : undefined;
}
