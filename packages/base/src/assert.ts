/** A bug in our own code; never bad input. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws `AssertionError` when `condition` does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** `value`, or an `AssertionError` when it is absent. */
export function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new AssertionError(`missing: ${what}`);
  return value;
}

/** For the end of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new AssertionError(`unexpected: ${JSON.stringify(value)}`);
}
