/** Sets of completion indexes as Kubernetes writes them: `1,3-5`. */

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** Ascending and disjoint; neighbours are joined. */
export type Intervals = readonly Interval[];

/** Parses a list of indexes below `completions`. Invalid parts are skipped. */
export function parseIntervals(text: string, completions: number): Intervals {
  const parsed: Interval[] = [];
  for (const part of text === '' ? [] : text.split(',')) {
    const [low = '', high = low] = part.split('-');
    if (!isIndex(low) || !isIndex(high)) continue;
    const first = Number(low);
    if (first >= completions) break;
    append(parsed, { first, last: Math.min(Number(high), completions - 1) });
  }
  return parsed;
}

/** Two neighbours are written as `1,2`, three or more as `1-3`. */
export function formatIntervals(intervals: Intervals): string {
  return intervals
    .map(({ first, last }) => {
      if (last === first) return String(first);
      return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
    })
    .join(',');
}

export function mergeIntervals(a: Intervals, b: Intervals): Intervals {
  const merged: Interval[] = [];
  for (const interval of [...a, ...b].sort((one, other) => one.first - other.first)) append(merged, interval);
  return merged;
}

export function withIndexes(intervals: Intervals, indexes: Iterable<number>): Intervals {
  return mergeIntervals(
    intervals,
    [...indexes].map((index) => ({ first: index, last: index })),
  );
}

export function countIndexes(intervals: Intervals): number {
  return intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

export function hasIndex(intervals: Intervals, index: number): boolean {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((intervals[middle]?.last ?? 0) >= index) high = middle;
    else low = middle + 1;
  }
  const found = intervals[low];
  return found !== undefined && found.first <= index;
}

/** The number of indexes that are in both. */
export function countCommon(a: Intervals, b: Intervals): number {
  let count = 0;
  let j = 0;
  for (const { first, last } of a) {
    for (let other = b[j]; other !== undefined && other.first <= last; other = b[j]) {
      count += Math.max(0, Math.min(last, other.last) - Math.max(first, other.first) + 1);
      if (other.last > last) break;
      j++;
    }
  }
  return count;
}

/** The first `count` indexes below `completions` that are not in `taken`. */
export function firstFree(taken: Intervals, count: number, completions: number): number[] {
  const free: number[] = [];
  let candidate = 0;
  const fillTo = (end: number) => {
    for (; candidate < end && free.length < count; candidate++) free.push(candidate);
  };
  for (const { first, last } of taken) {
    fillTo(Math.min(first, completions));
    candidate = Math.max(candidate, last + 1);
  }
  fillTo(completions);
  return free;
}

/** Merges with the last interval if they touch. */
function append(intervals: Interval[], next: Interval): void {
  const last = intervals.at(-1);
  if (last === undefined || next.first > last.last + 1) intervals.push(next);
  else if (next.last > last.last) intervals[intervals.length - 1] = { first: last.first, last: next.last };
}

function isIndex(text: string): boolean {
  return /^\+?\d{1,15}$/.test(text);
}
