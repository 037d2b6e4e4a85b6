import { expect, it } from 'vitest';
import { cyclesOf, graphOfFiles, graphOfFolders } from './cycles.ts';

const graph = (edges: Record<string, string[]>) =>
  new Map(Object.entries(edges).map(([from, to]) => [from, new Set(to)]));

it('finds imports with each ending that the compiler takes', () => {
  const files = [
    { path: 'a.ts', imports: ['./b.ts', './c.js', './d', './e', './gone.ts'] },
    ...['b.ts', 'c.ts', 'd.ts', 'e/index.ts'].map((path) => ({ path, imports: [] })),
  ];
  expect([...(graphOfFiles(files).get('a.ts') ?? [])]).toEqual(['b.ts', 'c.ts', 'd.ts', 'e/index.ts']);
});

it('reports each group of nodes that reach each other once', () => {
  const edges = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: ['f'], f: ['e'], g: ['a', 'g'] };
  expect(cyclesOf(graph(edges)).toSorted()).toEqual([
    ['a', 'b', 'c'],
    ['e', 'f'],
  ]);
});

it('reports none where a node is reached by two ways', () => {
  expect(cyclesOf(graph({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }))).toEqual([]);
});

it('reports folders that import each other through different files, but not through their front doors', () => {
  const files = graph({ 'x/a.ts': ['y/a.ts'], 'y/a.ts': [], 'y/b.ts': ['x/b.ts'], 'x/b.ts': [] });
  expect(cyclesOf(files)).toEqual([]);
  expect(cyclesOf(graphOfFolders(files))).toEqual([['x', 'y']]);
  expect(cyclesOf(graphOfFolders(graph({ 'index.ts': ['x/a.ts'], 'x/a.ts': ['b.ts'], 'b.ts': [] })))).toEqual([]);
});
