/** What goes out in one write: big enough that its cost does not show, small enough that others get their turn in between. */
export const SLAB_BYTES = 128 * 1024;

/** Joins small pieces to slabs of about `SLAB_BYTES`; pieces that are as big by themselves are passed on uncopied. */
export function* joinPieces(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let slab: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    slab.push(piece);
    size += piece.length;
    if (size >= SLAB_BYTES) {
      yield joined(slab, size);
      slab = [];
      size = 0;
    }
  }
  if (size > 0) yield joined(slab, size);
}

function joined(slab: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = slab;
  return only !== undefined && slab.length === 1 ? only : Buffer.concat(slab, size);
}
