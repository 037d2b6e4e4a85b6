/** A bug in our own code; never bad input. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** `value`, or an `AssertionError` when it is absent. */
export function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionError(`missing: ${what}`);
  return value;
}
