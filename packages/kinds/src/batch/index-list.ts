/** Lists of a Job's indexes: `1,3-5`, ascending. Checks return an error message, or undefined. */

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** The number of indexes in a list, or Kubernetes' error message. */
export function countIndexes(text: string, completions: number): number | { readonly fault: string } {
  if (text === '') return 0;
  let total = 0;
  let previous: number | undefined;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if ('fault' in interval) return interval;
    const { first, last } = interval;
    if (previous !== undefined && previous >= first) return decreasing(previous, first);
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/** The error about an index in both lists. Invalid intervals are skipped. */
export function findOverlap(completed: string, failed: string, completions: number): string | undefined {
  if (completed === '' || failed === '') return undefined;
  const done = intervalsOf(completed, completions);
  const lost = intervalsOf(failed, completions);
  let i = 0;
  let j = 0;
  for (;;) {
    const a = done[i];
    const b = lost[j];
    if (a === undefined || b === undefined) return undefined;
    if (a.first <= b.last && b.first <= a.last) {
      return `failedIndexes and completedIndexes overlap at index: ${Math.max(a.first, b.first)}`;
    }
    if (a.first <= b.first) i++;
    else j++;
  }
}

function intervalsOf(text: string, completions: number): Interval[] {
  return text.split(',').flatMap((part) => {
    const interval = parseInterval(part, completions);
    return 'fault' in interval ? [] : [interval];
  });
}

function parseInterval(text: string, completions: number): Interval | { readonly fault: string } {
  const [low = '', high, ...rest] = text.split('-');
  if (rest.length > 0) {
    const quoted = JSON.stringify(text);
    return {
      fault: `the fragment ${quoted} violates the requirement that an index interval can have at most two parts separated by '-'`,
    };
  }
  const first = parseIndex(low, completions);
  if (typeof first !== 'number') return first;
  if (high === undefined) return { first, last: first };
  const last = parseIndex(high, completions);
  if (typeof last !== 'number') return last;
  return first >= last ? decreasing(first, last) : { first, last };
}

function parseIndex(text: string, completions: number): number | { readonly fault: string } {
  const quoted = JSON.stringify(text);
  if (!/^[+-]?\d{1,18}$/.test(text)) return { fault: `cannot convert string to integer for index: ${quoted}` };
  const index = Number(text);
  return index >= completions ? { fault: `too large index: ${quoted}` } : index;
}

function decreasing(previous: number, current: number): { readonly fault: string } {
  return { fault: `non-increasing order, previous: ${previous}, current: ${current}` };
}
