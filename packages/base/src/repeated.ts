/** Returns which values occurred before. In linear time: clients choose the number of values. */
export function repeatedAt(values: readonly unknown[]): (index: number) => boolean {
  const seen = new Set<unknown>();
  const repeated = values.map((value) => seen.size === seen.add(value).size);
  return (index) => repeated[index] === true;
}
