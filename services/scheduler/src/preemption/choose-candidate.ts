import { byImportance, startOf } from './importance.ts';
import type { Candidate } from './select-victims.ts';

/** Added to each priority, so that fewer victims count less though priorities may be negative. */
const LOWEST_PRIORITY = 2 ** 31;

/**
 * The best candidate by Kubernetes' criteria: the fewest violations of budgets, the lowest priority of the most important victim, the
 * lowest sum of priorities, the fewest victims, and victims that were started last. Of equals the first.
 */
export function chooseCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  const ranked = candidates.map((candidate) => ({ candidate, rank: rankOf(candidate) }));
  const [first] = ranked;
  if (first === undefined) return undefined;
  return ranked.reduce((best, one) => (isLess(one.rank, best.rank) ? one : best), first).candidate;
}

function rankOf({ violations, victims, awaited }: Candidate): readonly number[] {
  const leaving = [...victims, ...awaited].sort(byImportance);
  const highest = leaving[0]?.priority ?? -LOWEST_PRIORITY;
  const sum = leaving.reduce((total, { priority }) => total + priority + LOWEST_PRIORITY, 0);
  const earliest = Math.min(...leaving.filter(({ priority }) => priority === highest).map(startOf));
  return [violations, highest, sum, leaving.length, -earliest];
}

function isLess(rank: readonly number[], other: readonly number[]): boolean {
  for (const [i, value] of rank.entries()) {
    const otherValue = other[i] ?? 0;
    if (value !== otherValue) return value < otherValue;
  }
  return false;
}
