/** Counts the lines that end in the parts of a stream. */
export function countLines(): (part: Buffer) => number {
  return (part) => {
    let count = 0;
    for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) count++;
    return count;
  };
}

/** Counts the frames (four bytes of length before each) that end in the parts of a stream. */
export function countFrames(): (part: Buffer) => number {
  let head = Buffer.alloc(0);
  let missing = 0;
  return (part) => {
    let count = 0;
    let rest = part;
    while (rest.length > 0) {
      if (missing === 0) {
        const wanted = 4 - head.length;
        head = Buffer.concat([head, rest.subarray(0, wanted)]);
        rest = rest.subarray(wanted);
        if (head.length < 4) return count;
        missing = head.readUInt32BE(0);
        head = Buffer.alloc(0);
        continue;
      }
      const taken = Math.min(missing, rest.length);
      missing -= taken;
      rest = rest.subarray(taken);
      if (missing === 0) count++;
    }
    return count;
  };
}
