/**
 * Tells which of the values came before. In linear time: clients choose how many there are, and to look each one up among all
 * others would hold everybody else up.
 */
export function repeatedAt(values: readonly unknown[]): (index: number) => boolean {
  const seen = new Set<unknown>();
  const repeated = values.map((value) => seen.size === seen.add(value).size);
  return (index) => repeated[index] === true;
}
