import { describe, expect, it } from 'vitest';
import type { Cell, Column, TableRow } from '../watch/formats.ts';
import { filterRows, nextSorting, parseSorting, placeOf, shownColumns, sortRows, toneOf } from './table-state.ts';

const column = (name: string, priority = 0): Column => ({
  name,
  priority,
  type: 'string',
  format: '',
  description: '',
});
const COLUMNS = [column('Name'), column('Restarts'), column('Seen'), column('Age'), column('IP', 1)];
const row = (name: string, cells: readonly Cell[] = [], more: Partial<TableRow> = {}): TableRow => ({
  uid: name,
  name,
  namespace: 'default',
  labels: {},
  createdAt: 0,
  isTerminating: false,
  cells: [name, ...cells],
  ...more,
});
const names = (rows: readonly TableRow[]) => rows.map(({ name }) => name);

describe('filterRows', () => {
  const rows = [
    row('web-1', ['Running'], { labels: { app: 'web' } }),
    row('db-1', ['Pending'], { namespace: 'data', labels: { app: 'db' } }),
  ];

  it('finds words in cells, namespaces and labels, whatever their case', () => {
    expect(names(filterRows(rows, 'RUNNING'))).toEqual(['web-1']);
    expect(names(filterRows(rows, 'data pend'))).toEqual(['db-1']);
    expect(names(filterRows(rows, 'app=web'))).toEqual(['web-1']);
    expect(names(filterRows(rows, 'web pending'))).toEqual([]);
  });

  it('keeps all without words', () => expect(filterRows(rows, '  ')).toHaveLength(2));
});

describe('sortRows', () => {
  const sorted = (rows: TableRow[], sorting: string) => names(sortRows(rows, COLUMNS, parseSorting(sorting)));

  it('orders numbers in names, numbers and ages by their value', () => {
    const rows = () => [row('web-10', [3, '10m']), row('web-9', [12, '3h']), row('web-1', [12, '45s'])];
    expect(sorted(rows(), 'Name')).toEqual(['web-1', 'web-9', 'web-10']);
    expect(sorted(rows(), 'Restarts')).toEqual(['web-10', 'web-1', 'web-9']);
    expect(sorted(rows(), '-Restarts')).toEqual(['web-1', 'web-9', 'web-10']);
    expect(sorted(rows(), 'Seen')).toEqual(['web-1', 'web-10', 'web-9']);
  });

  it('orders ages by creation: the youngest first', () => {
    const rows = [row('old', [], { createdAt: 1 }), row('new', [], { createdAt: 2 })];
    expect(sorted(rows, 'Age')).toEqual(['new', 'old']);
    expect(sorted(rows, '-Age')).toEqual(['old', 'new']);
  });

  it('orders by namespace and name without a sorting or with an unknown column', () => {
    const rows = () => [row('b', [], { namespace: 'z' }), row('c'), row('a', [], { namespace: 'z' })];
    expect(names(sortRows(rows(), COLUMNS, undefined))).toEqual(['c', 'a', 'b']);
    expect(sorted(rows(), 'Absent')).toEqual(['c', 'a', 'b']);
  });
});

describe('columns', () => {
  it('shows those of priority 0, all when wide, none that is hidden', () => {
    expect(shownColumns(COLUMNS, false, []).map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(shownColumns(COLUMNS, true, ['Seen']).map(({ index }) => index)).toEqual([0, 1, 3, 4]);
  });

  it('sorts up, down and not', () => {
    expect(nextSorting(undefined, 'Name')).toBe('Name');
    expect(nextSorting(parseSorting('Name'), 'Name')).toBe('-Name');
    expect(nextSorting(parseSorting('-Name'), 'Name')).toBeUndefined();
    expect(nextSorting(parseSorting('-Name'), 'Age')).toBe('Age');
  });
});

describe('placeOf', () => {
  const rows = ['a', 'b', 'c'].map((name) => row(name));

  it('follows its row when others come, go and change their order', () => {
    expect(placeOf({ uid: 'b', index: 1 }, rows)).toBe(1);
    expect(placeOf({ uid: 'b', index: 1 }, [row('0'), ...rows])).toBe(2);
    expect(placeOf({ uid: 'c', index: 2 }, rows.toReversed())).toBe(0);
  });

  it('is at the row that took the place of one that is gone', () => {
    expect(placeOf({ uid: 'gone', index: 1 }, rows)).toBe(1);
    expect(placeOf({ uid: 'gone', index: 7 }, rows)).toBe(2);
    expect(placeOf({ uid: 'gone', index: 7 }, [])).toBe(0);
  });
});

describe('toneOf', () => {
  it.each([
    ['Running', 'good'],
    ['ContainerCreating', 'waiting'],
    ['Init:0/2', 'waiting'],
    ['CrashLoopBackOff', 'bad'],
    ['NotReady', 'bad'],
    ['Init:Error', 'bad'],
    ['web', 'none'],
  ])('of %s is %s', (text, tone) => expect(toneOf(text)).toBe(tone));
});
