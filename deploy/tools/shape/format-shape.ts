import type { CodeShape } from './measure-code.ts';

/** What each number is called, and what the best quartile of the codebases of the style guide reaches. */
const MEASURES: Readonly<Record<keyof CodeShape, { readonly title: string; readonly best?: string }>> = {
  files: { title: 'files' },
  fileMedian: { title: 'lines of a file, median', best: '110' },
  fileLongest: { title: 'lines of a file, longest', best: '450' },
  functions: { title: 'functions with a name, over one line' },
  functionMedian: { title: 'lines of a function, median', best: '10' },
  functionsOver50: { title: 'functions over 50 lines' },
  functionLongest: { title: 'lines of a function, longest', best: '70' },
  functionsOver3Parameters: { title: 'functions with more than three parameters, %', best: '0' },
  nestedFourDeep: { title: 'places nested four deep, in tests too', best: '0' },
  interfaceLargest: { title: 'methods of the largest interface', best: '6' },
  exportsDocumented: { title: 'exports with a doc comment, %', best: '85' },
  forcedCasts: { title: '`as unknown as` outside tests' },
  fileCycles: { title: 'cycles of files', best: '0' },
  folderCycles: { title: 'cycles of folders', best: '0' },
  foldersInCycles: { title: 'folders in a cycle', best: '0' },
  repeatedRuns: { title: 'runs of six or more lines that stand twice' },
  testShare: { title: 'lines of tests to a line of code', best: '1.3 to 2' },
};

/** A table of the numbers, with those of `before` and of the best quartile beside them when `before` is given. */
export function formatShape(shape: CodeShape, before?: Partial<CodeShape>): string {
  const keys = Object.keys(MEASURES) as (keyof CodeShape)[];
  const rows = keys.map((key) => {
    const { title, best } = MEASURES[key];
    const own = before === undefined ? [`${shape[key]}`] : [`${before[key] ?? '-'}`, `${shape[key]}`, best ?? ''];
    return [title, ...own];
  });
  const table = before === undefined ? rows : [['', 'before', 'now', 'best quartile'], ...rows];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
  );
  return `${lines.map((cells) => cells.join('  ').trimEnd()).join('\n')}\n`;
}
