import { isConformance, type OfficialTest } from './test-list.ts';

/** A single argument of a program must stay below 128 KiB. */
const MAX_PATTERN_LENGTH = 60_000;

/**
 * Arguments by which Ginkgo runs exactly `wanted`, all of one schedule, out of `all`. The whole suite is chosen as the
 * certification programme asks; anything less by names.
 */
export function focusArguments(wanted: readonly OfficialTest[], all: readonly OfficialTest[]): readonly string[] {
  const schedule = wanted[0]?.schedule;
  const suite = all.filter((test) => isConformance(test) && test.schedule === schedule);
  if (wanted.length === suite.length && wanted.every(isConformance)) {
    const serial = String.raw`\[Serial\]`;
    return schedule === 'serial'
      ? [String.raw`--focus=\[Serial\].*\[Conformance\]|\[Conformance\].*\[Serial\]`]
      : [String.raw`--focus=\[Conformance\]`, `--skip=${serial}`];
  }
  const patterns: string[][] = [];
  let length = MAX_PATTERN_LENGTH;
  for (const { name } of wanted) {
    const quoted = name.replace(/[\\.*+?^${}()|[\]]/g, String.raw`\$&`);
    if (length + quoted.length >= MAX_PATTERN_LENGTH) {
      patterns.push([]);
      length = 0;
    }
    patterns.at(-1)?.push(quoted);
    length += quoted.length + 1;
  }
  // Ginkgo matches against the suite's description, a space, and the test's name.
  return patterns.map((names) => `--focus= (?:${names.join('|')})$`);
}
