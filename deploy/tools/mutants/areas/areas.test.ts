import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AREAS } from './areas.ts';
import { findProblems } from '../mutant.ts';

const root = resolve(import.meta.dirname, '../../../..');
const read = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined);
const mutants = Object.values(AREAS).flat();

describe('the list of protecting lines', () => {
  // Change the entry with the line: `npm run mutants -- NAME` shows that a test still fails without it.
  it('has each line exactly once in its file, with its tests', () => {
    expect(findProblems(mutants, read)).toEqual([]);
  });

  it('covers every area', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(60);
    expect(Object.entries(AREAS).filter(([, list]) => list.length === 0)).toEqual([]);
  });
});
