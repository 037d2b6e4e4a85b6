import { encodeProtobuf as encodeObject } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { SharedResponse } from '../../cache/index.ts';

/** Encodes an object as protobuf, with the envelope. */
export function encodeProtobuf(object: KubeObject): Uint8Array {
  return encodeObject(object);
}

/** A response for a single request. */
export function responseOf(object: KubeObject): SharedResponse {
  return new SharedResponse(object, encodeProtobuf);
}
