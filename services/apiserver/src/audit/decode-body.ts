import { parsePlainBody } from '@gantry/apimachinery';

/** Decodes a protobuf body by the type that its envelope names. */
export type BodyDecoder = (bytes: Uint8Array) => unknown;

/**
 * A body as the audit log shows it: decoded by its media type. A body that cannot be decoded is undefined: the request fails by it,
 * and its status says so.
 */
export function decodeAuditedBody(mediaType: string, bytes: Uint8Array, decodeProtobuf: BodyDecoder): unknown {
  if (bytes.length === 0) return undefined;
  try {
    if (mediaType.includes('protobuf')) return decodeProtobuf(bytes);
    return parsePlainBody(bytes, mediaType.includes('yaml') ? 'yaml' : 'json');
  } catch {
    // The client hears of it from the decoder of the request itself.
    return undefined;
  }
}
