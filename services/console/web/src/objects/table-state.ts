import { parseAge } from '../shell/ages.ts';
import type { Cell, Column, TableRow } from '../watch/formats.ts';

/** A column and its direction; `-Name` in an address is descending. */
export interface Sorting {
  readonly column: string;
  readonly isDescending: boolean;
}

export function parseSorting(text: string | undefined): Sorting | undefined {
  if (text === undefined || text === '' || text === '-') return undefined;
  return text.startsWith('-') ? { column: text.slice(1), isDescending: true } : { column: text, isDescending: false };
}

/** The sorting after a click on a column: ascending, descending, then none. */
export function nextSorting(current: Sorting | undefined, column: string): string | undefined {
  if (current?.column !== column) return column;
  return current.isDescending ? undefined : `-${column}`;
}

/** The columns that are shown: those of priority 0, and with `wide` all; without hidden ones. */
export function shownColumns(
  columns: readonly Column[],
  wide: boolean,
  hidden: readonly string[],
): readonly { readonly column: Column; readonly index: number }[] {
  return columns
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => (wide || column.priority === 0) && !hidden.includes(column.name));
}

/** Rows that contain each word of the text: in a cell, the namespace, or a label as `key=value`. Case does not matter. */
export function filterRows(rows: Iterable<TableRow>, text: string): TableRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...rows];
  const found: TableRow[] = [];
  for (const row of rows) {
    const content = contentOf(row);
    if (words.every((word) => content.includes(word))) found.push(row);
  }
  return found;
}

/** Rows do not change: the same row's content is searched at each key. */
const contents = new WeakMap<TableRow, string>();

function contentOf(row: TableRow): string {
  let content = contents.get(row);
  if (content === undefined) {
    const labels = Object.entries(row.labels).map(([key, value]) => `${key}=${value}`);
    content = [row.namespace, ...row.cells.map(String), ...labels].join('\n').toLowerCase();
    contents.set(row, content);
  }
  return content;
}

const NATURAL = new Intl.Collator('en', { numeric: true });

/** Sorts in place: numbers as numbers, ages as durations, text with its numbers in order. Without a sorting, by namespace and name. */
export function sortRows(rows: TableRow[], columns: readonly Column[], sorting: Sorting | undefined): TableRow[] {
  const byName = (a: TableRow, b: TableRow) =>
    NATURAL.compare(a.namespace, b.namespace) || NATURAL.compare(a.name, b.name);
  if (sorting === undefined) return rows.sort(byName);
  const compare = comparatorOf(columns, sorting.column);
  if (compare === undefined) return rows.sort(byName);
  const sign = sorting.isDescending ? -1 : 1;
  return rows.sort((a, b) => sign * compare(a, b) || byName(a, b));
}

function comparatorOf(columns: readonly Column[], name: string): ((a: TableRow, b: TableRow) => number) | undefined {
  if (name === 'Namespace') return (a, b) => NATURAL.compare(a.namespace, b.namespace);
  // The newest have the lowest age.
  if (name === 'Age') return (a, b) => b.createdAt - a.createdAt;
  const index = columns.findIndex((column) => column.name === name);
  return index < 0 ? undefined : (a, b) => compareCells(a.cells[index] ?? null, b.cells[index] ?? null);
}

function compareCells(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [String(a ?? ''), String(b ?? '')];
  const [leftAge, rightAge] = [parseAge(left), parseAge(right)];
  return leftAge !== undefined && rightAge !== undefined ? leftAge - rightAge : NATURAL.compare(left, right);
}

/** The row that has the keyboard: by its object, since rows come, go and change their order. */
export interface Place {
  readonly uid: string;
  /** Where it was. */
  readonly index: number;
}

/** Where the row is now; of one that is gone, the row that took its place, or the last one. 0 without rows. */
export function placeOf({ uid, index }: Place, rows: readonly Pick<TableRow, 'uid'>[]): number {
  if (rows[index]?.uid === uid) return index;
  const found = rows.findIndex((row) => row.uid === uid);
  return found >= 0 ? found : Math.max(0, Math.min(index, rows.length - 1));
}

/** How a cell's text is marked; never by colour alone. */
export type Tone = 'good' | 'waiting' | 'bad' | 'none';

const GOOD = /^(Running|Ready|Active|Bound|Available|Succeeded|Completed?|Healthy|Normal|Established|Approved,Issued)$/;
const WAITING =
  /^(Pending|ContainerCreating|PodInitializing|Terminating|Init:\d.*|Released|Unknown|Progressing|SchedulingGated|Ready,SchedulingDisabled)$/;
const BAD = /(Error|BackOff|Failed|Lost|Evicted|OOMKilled|NotReady|Invalid|Warning|Denied|ErrImage|Unschedulable)/;

/** The tone of a status in words. */
export function toneOf(text: string): Tone {
  if (GOOD.test(text)) return 'good';
  if (WAITING.test(text)) return 'waiting';
  return BAD.test(text) ? 'bad' : 'none';
}
