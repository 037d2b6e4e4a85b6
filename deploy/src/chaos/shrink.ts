/**
 * The smallest part of a failing list that still fails, by delta debugging (Zeller's ddmin): without any one of its elements, it does not
 * fail. `fails` is asked about parts in their order, one at a time, and never about the whole list or twice about the same part. Ends early,
 * with the smallest part that was found, when `stop` is aborted.
 */
export async function shrink<T>(
  failing: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  stop: AbortSignal,
): Promise<readonly T[]> {
  const asked = new Map<string, boolean>([[keyOf(failing, failing), true]]);
  const ask = async (part: readonly T[]): Promise<boolean> => {
    const key = keyOf(failing, part);
    const known = asked.get(key) ?? (await fails(part));
    asked.set(key, known);
    return known;
  };
  let smallest = failing;
  for (let pieces = 2; smallest.length > 1 && !stop.aborted; ) {
    const found = await firstFailing(candidates(smallest, pieces), ask, stop);
    if (found !== undefined) {
      pieces = found.length * 2 > smallest.length ? Math.max(2, pieces - 1) : 2;
      smallest = found;
    } else if (pieces >= smallest.length) break;
    else pieces = Math.min(smallest.length, pieces * 2);
  }
  return smallest;
}

/** The pieces of a list, and then the list without each of them. */
function candidates<T>(list: readonly T[], pieces: number): readonly (readonly T[])[] {
  const bounds = Array.from({ length: pieces + 1 }, (_, index) => Math.floor((index * list.length) / pieces));
  const parts = bounds.slice(1).map((end, index) => list.slice(bounds[index], end));
  const rests = bounds.slice(1).map((end, index) => [...list.slice(0, bounds[index]), ...list.slice(end)]);
  return pieces === 2 ? parts : [...parts, ...rests];
}

async function firstFailing<T>(
  parts: readonly (readonly T[])[],
  ask: (part: readonly T[]) => Promise<boolean>,
  stop: AbortSignal,
): Promise<readonly T[] | undefined> {
  for (const part of parts) {
    if (stop.aborted) return undefined;
    if (await ask(part)) return part;
  }
  return undefined;
}

function keyOf<T>(whole: readonly T[], part: readonly T[]): string {
  const chosen = new Set(part);
  return whole.map((one) => (chosen.has(one) ? '1' : '0')).join('');
}
