import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Golden {
  normalise(value: unknown): unknown;
}

const FOLDER = new URL('../../golden/', import.meta.url);
const { normalise } = (await import(new URL('lib.mjs', FOLDER).href)) as Golden;

/** Every form in which Kubernetes prints an age: one unit or two, from seconds to years. */
const AGES = ['0s', '119s', '2m5s', '9m', '179m', '3h5m', '7h', '47h', '2d4h', '7d', '729d', '2y3d', '7y', '8y'];

/** The texts of all table cells in a value. */
function cellsOf(value: unknown): readonly string[] {
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap(cellsOf);
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'cells' && Array.isArray(inner)
      ? inner.filter((cell) => typeof cell === 'string')
      : cellsOf(inner as unknown),
  );
}

it.each([...AGES, '<invalid>'])('a table cell with the age %s is not compared', (age) => {
  expect(normalise({ cells: ['name', age] })).toEqual({ cells: ['name', '<age>'] });
});

it('no recorded table holds an age, which would grow with the calendar', () => {
  const cells = globSync('*.jsonl', { cwd: FOLDER }).flatMap((file) =>
    readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => cellsOf(JSON.parse(line))),
  );
  expect(cells).toContain('<age>');
  expect(cells.filter((cell) => /^(?:\d+(?:s|m|h|d|y)){1,2}$/.test(cell) || /\bago\b/.test(cell))).toEqual([]);
});
