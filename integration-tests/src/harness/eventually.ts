import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 100;

/** Calls `look` until it returns something other than undefined or false; fails with its last error, or what is awaited. */
export async function eventually<T>(
  what: string,
  timeoutMs: number,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const startedAt = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() - startedAt > timeoutMs) {
      const why = last instanceof Error ? `: ${last.message}` : '';
      throw new Error(`within ${timeoutMs / 1000} s: ${what}${why}`, { cause: last });
    }
    await delay(EVERY_MS);
  }
}
