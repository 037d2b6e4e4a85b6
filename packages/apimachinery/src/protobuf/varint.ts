/** A number from 0 to 2^53 - 1 as protobuf writes it: seven bits per byte, lowest first. */
export function varint(value: number): Uint8Array {
  const out: number[] = [];
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return Uint8Array.from(out);
}
