/** One number that a measure has found. */
export interface Figure {
  /** What was done: `create, REST JSON`. */
  readonly work: string;
  /** What was counted of it: `CPU`, `p99`. */
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly better: 'more' | 'less';
}

/** Figures of the same works from elsewhere: of a saved run, or of a reference. */
interface NamedFigures {
  readonly name: string;
  readonly figures: readonly Figure[];
}

/**
 * A table of the works that both have: the numbers of the other, ours, and how many times better ours are. Numbers of one work stand in one
 * row, in the same order in each column.
 */
export function comparison(other: NamedFigures, ours: NamedFigures): readonly string[] {
  const known = new Map(other.figures.map((figure) => [keyOf(figure), figure]));
  const works = new Map<string, (readonly [Figure, Figure])[]>();
  for (const figure of ours.figures) {
    const theirs = known.get(keyOf(figure));
    if (theirs === undefined) continue;
    const pairs = works.get(figure.work) ?? [];
    pairs.push([theirs, figure]);
    works.set(figure.work, pairs);
  }
  const rows = [...works].map(([work, pairs]) => {
    const columns = [
      pairs.map(([theirs]) => numberOf(theirs)),
      pairs.map(([, figure]) => numberOf(figure)),
      pairs.map(timesBetter),
    ];
    return `| ${work}: ${pairs.map(([, { what }]) => what).join('; ')} | ${columns.map((one) => one.join('; ')).join(' | ')} |`;
  });
  return [`| work | ${other.name} | ${ours.name} | ratio |`, '| --- | --- | --- | --- |', ...rows];
}

function keyOf({ work, what, unit }: Figure): string {
  return JSON.stringify([work, what, unit]);
}

function numberOf({ value, unit }: Figure): string {
  return `${rounded(value)}${unit.startsWith('/') ? '' : ' '}${unit}`.trim();
}

/** 2 means half the cost, or twice the rate. */
function timesBetter([theirs, ours]: readonly [Figure, Figure]): string {
  const ratio = ours.better === 'more' ? ours.value / theirs.value : theirs.value / ours.value;
  return Number.isFinite(ratio) ? `${rounded(ratio)} x` : '-';
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}
