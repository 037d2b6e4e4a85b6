/**
 * Takes the place of the package `bufferutil` in bundles, which the WebSocket library uses for the masks of clients (RFC 6455, section 5.3)
 * where it is installed. Masks go over four bytes at once: one by one they are an eighth of what an API server does for a stream. The
 * package is a native addon that some machines have to compile.
 */

/** Writes `length` bytes of `source`, masked, to `output` from `offset` on. `mask` has four bytes. */
export function mask(source: Uint8Array, mask: Uint8Array, output: Uint8Array, offset: number, length: number): void {
  const target = output.subarray(offset, offset + length);
  target.set(source.subarray(0, length));
  unmask(target, mask);
}

/** Masks, or unmasks, in place. */
export function unmask(bytes: Uint8Array, mask: Uint8Array): void {
  const aligned = -bytes.byteOffset & 3;
  if (bytes.length < aligned + 4) {
    for (let at = 0; at < bytes.length; at++) maskByte(bytes, mask, at);
    return;
  }
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, (bytes.length - aligned) >> 2);
  const [key = 0] = new Int32Array(Uint8Array.from({ length: 4 }, (_, at) => mask[(aligned + at) & 3] ?? 0).buffer);
  for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) ^ key;
  for (let at = 0; at < aligned; at++) maskByte(bytes, mask, at);
  for (let at = aligned + 4 * words.length; at < bytes.length; at++) maskByte(bytes, mask, at);
}

function maskByte(bytes: Uint8Array, mask: Uint8Array, at: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ (mask[at & 3] ?? 0);
}
