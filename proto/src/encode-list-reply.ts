import type { ListReply } from './gen/gantry/v1/object_pb.ts';
import { varintBytes, writeVarint } from './varint.ts';

const OBJECTS = (1 << 3) | 2;
const RESOURCE_VERSION = (2 << 3) | 2;
const CONTINUE_TOKEN = (3 << 3) | 2;

/**
 * Encodes a ListReply into a buffer of the exact size. The generated writer doubles its buffer repeatedly, which for a
 * list of 50 MB costs several times the work and memory.
 */
export function encodeListReply(reply: ListReply): Buffer {
  const texts = [
    [RESOURCE_VERSION, Buffer.from(reply.resourceVersion)],
    [CONTINUE_TOKEN, Buffer.from(reply.continueToken)],
  ] as const;
  // Empty strings are not written; empty objects would be.
  const fields: [number, Uint8Array][] = reply.objects.map((object) => [OBJECTS, object]);
  for (const [tag, text] of texts) if (text.length > 0) fields.push([tag, text]);
  const size = fields.reduce((sum, [, value]) => sum + 1 + varintBytes(value.length) + value.length, 0);
  const out = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const [tag, value] of fields) {
    out[at++] = tag;
    at = writeVarint(out, value.length, at);
    out.set(value, at);
    at += value.length;
  }
  return out;
}
