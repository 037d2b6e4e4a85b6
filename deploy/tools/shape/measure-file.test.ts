import { expect, it } from 'vitest';
import { measureFile } from './measure-file.ts';

const measure = (...lines: string[]) => measureFile({ path: 'a/sample.ts', text: `${lines.join('\n')}\n` });

it('counts the lines of a file without the end of the last', () => {
  expect(measure('const a = 1;', '', 'const b = 2;').lines).toBe(3);
  expect(measureFile({ path: 'empty.ts', text: '' }).lines).toBe(0);
});

it('finds every function with a body, its lines and its parameters', () => {
  const { functions } = measure(
    'declare function outside(a: 1, b: 2, c: 3, d: 4): void;',
    '/** Comments do not count. */',
    'export function one(a: number, b = 1): number {',
    '  return [a, b].map((x) => x).length;',
    '}',
    'const two = async () => {};',
    'class Three {',
    '  constructor(readonly a: number) {}',
    '  get four(): number { return 4; }',
    '}',
  );
  expect(functions.map(({ name, line, lines, parameters }) => [name, line, lines, parameters])).toEqual([
    ['one', 3, 3, 2],
    ['(anonymous)', 4, 1, 1],
    ['two', 6, 1, 0],
    ['constructor', 8, 1, 1],
    ['four', 9, 1, 0],
  ]);
});

it('finds statements at the fourth depth of a function once, and an else-if at the depth of its if', () => {
  const { deepLines } = measure(
    'function deep(a: number[][]) {',
    '  for (const b of a) {',
    '    try {',
    '      while (b.length > 0) {',
    '        if (b[0] === 1) {',
    '          if (b[1] === 1) b.pop();',
    '        }',
    '      }',
    '    } catch {}',
    '  }',
    '}',
    'function chain(a: number) {',
    '  if (a === 1) {} else if (a === 2) {} else if (a === 3) {} else if (a === 4) {} else if (a === 5) {}',
    '}',
    'function inner() {',
    '  if (1) { if (2) { if (3) { const f = () => { if (4) f(); }; } } }',
    '}',
  );
  expect(deepLines).toEqual([5]);
});

it('counts methods of interfaces, written as methods or as properties that are functions', () => {
  const { interfaces } = measure(
    'interface Port { read(): void; readonly write: (a: string) => void; readonly name: string; }',
    'export interface Empty {}',
  );
  expect(interfaces).toEqual([
    { name: 'Port', line: 1, methods: 2 },
    { name: 'Empty', line: 2, methods: 0 },
  ]);
});

it('tells exports with a doc comment from those without, and leaves out what is only handed on', () => {
  const { exports } = measure(
    '/** Documented. */',
    'export const a = 1, b = 2;',
    '// No doc comment.',
    'export type C = 1;',
    "export { d } from './d.ts';",
    'const e = 3;',
  );
  expect(exports.map(({ name, documented }) => [name, documented])).toEqual([
    ['a', true],
    ['b', true],
    ['C', false],
  ]);
});

it('finds casts by way of unknown, with parentheses or without', () => {
  const { forcedCasts } = measure(
    'const a = 1 as unknown as string;',
    'const b = (1 as unknown) as string;',
    'const c = a as unknown;',
  );
  expect(forcedCasts).toEqual([1, 2]);
});

it('lists relative imports, those of types too, and the lines that they take', () => {
  const { imports, importLines } = measure(
    "import { a } from './a.ts';",
    'import type {',
    '  B,',
    "} from '../b.ts';",
    "import { c } from 'elsewhere';",
    "export { d } from './d.ts';",
    'const e = a;',
  );
  expect(imports).toEqual(['./a.ts', '../b.ts', './d.ts']);
  expect([...importLines]).toEqual([1, 2, 3, 4, 5, 6]);
});
