import type { ClientLoad, InvariantVerdict, Verdict } from './verdict.ts';

/** The verdict as lines for a terminal. */
export function formatVerdict({ outcome, problems, found, invariants, loads }: Verdict): string {
  const lines = invariants.flatMap(formatInvariant);
  const violated = invariants.filter(({ violationCount }) => violationCount > 0);
  const idle = invariants.filter(({ checked, violationCount }) => checked === 0 && violationCount === 0);
  const passed = invariants.length - violated.length - idle.length;
  const counts = `${passed} hold, ${violated.length} are broken, ${idle.length} were not checked`;
  const result = {
    ok: `no violation: ${counts}`,
    violations: `violations: ${counts}`,
    unusable: `incomplete artefacts, so no violation proves nothing: ${counts}`,
  }[outcome];
  return [
    ...problems.map((problem) => `problem: ${problem}`),
    ...found.map((what) => `found by the campaign: ${what}`),
    ...lines,
    ...loads.map(formatLoad),
    result,
  ].join('\n');
}

/** What clients of a load at a rate saw, in one line. */
export function formatLoad({ during, requests, repeated, failed, ...times }: ClientLoad): string {
  const { p50Ms, p99Ms, maxMs, longestGapMs } = times;
  const [p50, p99, longest, gap] = [p50Ms, p99Ms, maxMs, longestGapMs].map((ms) => `${Math.round(ms)} ms`);
  const name = during === 'calm' ? 'without faults' : 'with faults';
  const seen = `p50 ${p50}, p99 ${p99}, longest ${longest}, longest gap ${gap}`;
  return `requests ${name}: ${requests}, ${seen}; ${repeated} repeated, ${failed} failed in the end`;
}

function formatInvariant(one: InvariantVerdict): readonly string[] {
  const { invariant, title, checked, unit, violationCount, violations, notChecked } = one;
  const state = violationCount > 0 ? 'broken' : checked > 0 ? 'holds' : 'not checked';
  const counted = checked > 0 || notChecked === undefined ? `${checked} ${unit}` : '';
  const reason = notChecked === undefined ? '' : `${checked > 0 ? '; ' : ''}not checked: ${notChecked}`;
  return [
    `${invariant.padEnd(4)}${state.padEnd(12)}${title} (${counted}${reason})`,
    ...violations.map(({ what, atMs, evidence }) => `      at ${atMs} ms: ${what} [${evidence.join(' ')}]`),
    ...(violationCount > violations.length ? [`      and ${violationCount - violations.length} more`] : []),
  ];
}

/** The exit code: 0 no violation, 1 violations, 2 unusable artefacts. */
export function exitCodeOf({ outcome }: Verdict): number {
  return { ok: 0, violations: 1, unusable: 2 }[outcome];
}
