import { describe, expect, it } from 'vitest';
import { findProblems, type Mutant, mutate } from './mutant.ts';

const MUTANT: Mutant = {
  name: 'the guard',
  file: 'guard.ts',
  text: 'if (denied) return;',
  replacement: '',
  tests: ['guard.test.ts'],
  protects: 'all',
};
const FILES: Readonly<Record<string, string>> = {
  'guard.ts': 'before();\nif (denied) return;\nafter();\n',
  'twice.ts': 'if (denied) return; if (denied) return;',
  'guard.test.ts': '',
};
const read = (file: string) => FILES[file];
const problems = (...mutants: readonly Partial<Mutant>[]) =>
  findProblems(
    mutants.map((mutant) => ({ ...MUTANT, ...mutant })),
    read,
  );

describe('mutate', () => {
  it('replaces the text where it occurs once, and nowhere else', () => {
    expect(mutate('a; if (denied) return; b', MUTANT)).toBe('a;  b');
    expect(mutate('a; b', MUTANT)).toBeUndefined();
    expect(mutate('if (denied) return; if (denied) return;', MUTANT)).toBeUndefined();
  });

  it('takes a replacement as it is written', () => {
    expect(mutate('if (denied) return;', { ...MUTANT, replacement: "$& $1 '" })).toBe("$& $1 '");
  });
});

describe('findProblems', () => {
  it('accepts a mutant whose text occurs once', () => {
    expect(problems({})).toEqual([]);
  });

  it('reports what has gone stale, by name', () => {
    expect(problems({ text: 'gone' })).toEqual(['the guard: guard.ts has its text 0 times, not once']);
    expect(problems({ file: 'twice.ts' })).toEqual(['the guard: twice.ts has its text 2 times, not once']);
    expect(problems({ file: 'absent.ts' })).toEqual(['the guard: absent.ts does not exist']);
    expect(problems({ tests: ['absent.test.ts'] })).toEqual(['the guard: absent.test.ts does not exist']);
  });

  it('reports mutants that prove nothing', () => {
    expect(problems({ tests: [] })).toEqual(['the guard: it names no test file']);
    expect(problems({ text: ' ' })).toEqual([
      'the guard: it has no text',
      'the guard: guard.ts has its text 2 times, not once',
    ]);
    expect(problems({ replacement: MUTANT.text })).toEqual(['the guard: its replacement is the text itself']);
    expect(problems({}, {})).toEqual(['the guard: another mutant has this name']);
  });
});
