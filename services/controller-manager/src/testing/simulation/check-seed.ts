import type { Log } from '@gantry/controller-runtime';
import { simulate } from './simulate.ts';

/** The violations in the history of a seed, none when all is well. */
export interface SeedResult {
  readonly violations: readonly string[];
  readonly crashes: number;
}

/** Runs a history once without faults and once with faults. No run may violate an invariant, and both have to end in the same state. */
export async function checkSeed(seed: number, log?: Log): Promise<SeedResult> {
  const said = log === undefined ? {} : { log };
  const calm = await simulate({ seed, faults: 'none', ...said });
  const disturbed = await simulate({ seed, faults: 'many', ...said });
  const wasted = [...calm.wastedClasses, ...disturbed.wastedClasses];
  return {
    violations: [
      ...calm.violations.map((violation) => `without faults: ${violation}`),
      ...disturbed.violations,
      ...differences(withoutClasses(calm.end, wasted), withoutClasses(disturbed.end, wasted)),
    ],
    crashes: disturbed.crashes,
  };
}

/** The lines without those of claims and volumes of these storage classes. */
function withoutClasses(lines: readonly string[], classes: readonly string[]): readonly string[] {
  return lines.filter(
    (line) =>
      !line.startsWith('/persistentvolume') || !classes.some((name) => line.includes(`"storageClassName":"${name}"`)),
  );
}

/** The differences of two end states. When a line differs only in part, it is shown from the first difference on. */
function differences(calm: readonly string[], disturbed: readonly string[]): readonly string[] {
  const missing = without(calm, disturbed);
  const added = without(disturbed, calm);
  const named = (line: string): string => line.split(' ', 2).join(' ');
  return [
    ...missing.map((line) => {
      const other = added.find((one) => named(one) === named(line));
      const at = other === undefined ? 0 : Math.max(0, commonLength(line, other) - 20);
      const found = other === undefined ? 'nothing' : other.slice(at, at + SHOWN);
      return `I21: ${named(line)} ends as ${line.slice(at, at + SHOWN)} without faults, with them as ${found}`;
    }),
    ...added
      .filter((line) => !missing.some((one) => named(one) === named(line)))
      .map((line) => `I21: faults leave ${line}`),
  ];
}

const SHOWN = 160;

/** The lines of one list that the other one lacks. Repeated lines count separately. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
