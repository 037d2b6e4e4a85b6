import { encodeProtobuf as encodeObject } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { SharedResponse } from '../../cache/index.ts';

/** The bytes of an object, envelope included. */
export function encodeProtobuf(object: KubeObject): Uint8Array {
  return encodeObject(object);
}

/** A response that only one request sees. */
export function responseOf(object: KubeObject): SharedResponse {
  return new SharedResponse(object, encodeProtobuf);
}
