import { parseJson } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';
import type { KeyValue } from '@gantry/etcd';
import { decodeEnvelope } from './envelope.ts';
import { type ResourceVersion, StoreError, type StoredObject } from './object-store.ts';
import type { Sealing } from './sealing.ts';
import { versionOf } from './resource-version.ts';

/** What a key holds, its resourceVersion set. */
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
