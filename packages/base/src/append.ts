/**
 * Adds all of `more` to the end of `to`. Works for lists of any length: `to.push(...more)` puts each element on the stack and throws a
 * RangeError for about 120,000 elements or more.
 */
export function append<T>(to: T[], more: Iterable<T>): void {
  for (const one of more) to.push(one);
}
