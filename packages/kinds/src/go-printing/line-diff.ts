import { append } from '@gantry/base';
/**
 * The unified diff of two texts with the algorithm behind Kubernetes' messages: longest common blocks first, ignoring very frequent lines
 * (Ratcliff and Obershelp, as in difflib).
 */
export function diffLines(before: string, after: string): string {
  const a = before.split('\n');
  const b = after.split('\n');
  return groups(operations(a, b))
    .map((group) => formatGroup(group, a, b))
    .join('');
}

interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

type Range = readonly [aFrom: number, aTo: number, bFrom: number, bTo: number];

interface Operation {
  readonly kind: 'equal' | 'change';
  readonly a: readonly [number, number];
  readonly b: readonly [number, number];
}

const CONTEXT = 3;
const POPULAR_FROM_LINES = 200;
/** Texts with more lines in total count as completely different. */
const MAX_LINES = 10_000;

/** The positions of each line of `b`, without lines that are too frequent. */
function indexLines(b: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  b.forEach((line, i) => {
    const found = places.get(line);
    if (found === undefined) places.set(line, [i]);
    else found.push(i);
  });
  if (b.length < POPULAR_FROM_LINES) return places;
  const limit = Math.floor(b.length / 100) + 1;
  for (const [line, found] of places) if (found.length > limit) places.delete(line);
  return places;
}

function matches(a: readonly string[], b: readonly string[]): Match[] {
  if (a.length + b.length > MAX_LINES) return [];
  const places = indexLines(b);
  const out: Match[] = [];
  // Not recursive: reversed lists would make the recursion as deep as the lists are long.
  const open: Range[] = [[0, a.length, 0, b.length]];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const [aFrom, aTo, bFrom, bTo] = range;
    const best = longestMatch(a, b, places, range);
    if (best.size === 0) continue;
    out.push(best);
    if (aFrom < best.a && bFrom < best.b) open.push([aFrom, best.a, bFrom, best.b]);
    const [aNext, bNext] = [best.a + best.size, best.b + best.size];
    if (aNext < aTo && bNext < bTo) open.push([aNext, aTo, bNext, bTo]);
  }
  return out.sort((one, other) => one.a - other.a);
}

function longestMatch(
  a: readonly string[],
  b: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  [aFrom, aTo, bFrom, bTo]: Range,
): Match {
  let best: Match = { a: aFrom, b: bFrom, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = aFrom; i < aTo; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i] ?? '') ?? []) {
      if (j < bFrom) continue;
      if (j >= bTo) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  let { a: i, b: j, size } = best;
  while (i > aFrom && j > bFrom && a[i - 1] === b[j - 1]) {
    i--;
    j--;
    size++;
  }
  while (i + size < aTo && j + size < bTo && a[i + size] === b[j + size]) size++;
  return { a: i, b: j, size };
}

function operations(a: readonly string[], b: readonly string[]): Operation[] {
  const out: Operation[] = [];
  let i = 0;
  let j = 0;
  for (const match of [...matches(a, b), { a: a.length, b: b.length, size: 0 }]) {
    if (i < match.a || j < match.b) out.push({ kind: 'change', a: [i, match.a], b: [j, match.b] });
    i = match.a + match.size;
    j = match.b + match.size;
    const previous = out.at(-1);
    if (match.size === 0) continue;
    if (previous?.kind === 'equal') {
      out[out.length - 1] = { kind: 'equal', a: [previous.a[0], i], b: [previous.b[0], j] };
    } else {
      out.push({ kind: 'equal', a: [match.a, i], b: [match.b, j] });
    }
  }
  return out;
}

/** Groups changes with a few equal lines around them; longer equal runs separate groups. */
function groups(all: readonly Operation[]): Operation[][] {
  const out: Operation[][] = [];
  let group: Operation[] = [];
  all.forEach((operation, index) => {
    const { kind, a, b } = operation;
    if (kind === 'change') {
      group.push(operation);
      return;
    }
    const head = Math.min(CONTEXT, a[1] - a[0]);
    const first = index === 0;
    const last = index === all.length - 1;
    if (first) group.push({ kind, a: [a[1] - head, a[1]], b: [b[1] - head, b[1]] });
    else if (last) group.push({ kind, a: [a[0], a[0] + head], b: [b[0], b[0] + head] });
    else if (a[1] - a[0] > 2 * CONTEXT) {
      group.push({ kind, a: [a[0], a[0] + CONTEXT], b: [b[0], b[0] + CONTEXT] });
      out.push(group);
      group = [{ kind, a: [a[1] - CONTEXT, a[1]], b: [b[1] - CONTEXT, b[1]] }];
    } else group.push(operation);
  });
  out.push(group);
  return out.filter((one) => one.some(({ kind }) => kind === 'change'));
}

function formatGroup(group: readonly Operation[], a: readonly string[], b: readonly string[]): string {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) return '';
  const lines = [`@@ -${formatRange(first.a[0], last.a[1])} +${formatRange(first.b[0], last.b[1])} @@`];
  for (const operation of group) {
    if (operation.kind === 'equal') {
      append(
        lines,
        a.slice(...operation.a).map((line) => ` ${line}`),
      );
      continue;
    }
    append(
      lines,
      a.slice(...operation.a).map((line) => `-${line}`),
    );
    append(
      lines,
      b.slice(...operation.b).map((line) => `+${line}`),
    );
  }
  return `${lines.join('\n')}\n`;
}

function formatRange(from: number, to: number): string {
  const length = to - from;
  if (length === 1) return `${from + 1}`;
  return `${length === 0 ? from : from + 1},${length}`;
}
