import { describe, expect, it } from 'vitest';
import { createEnvironment } from '../compile/create-environment.ts';
import { isError } from './value.ts';
import { jsonOfValue } from './to-json.ts';

const evaluated = (expression: string): unknown => {
  const compilation = createEnvironment({ variables: {} }).compile(expression);
  if (!compilation.ok) throw new Error(compilation.issues);
  const result = compilation.program.evaluate({});
  if (!result.ok) throw new Error(result.error);
  return jsonOfValue(result.value);
};

describe('values as JSON', () => {
  it.each([
    ['[dyn(1), dyn(2u), dyn(1.5), dyn(true), dyn(null)]', [1, 2, 1.5, true, null]],
    ["{'b': {'c': 'd'}}", { b: { c: 'd' } }],
    ['9223372036854775807', 9223372036854775807n],
    ['[9007199254740992, 1000000000000000000]', [2 ** 53, 1e18]],
    ["b'abc'", 'YWJj'],
    ["timestamp('2030-01-02T03:04:05Z')", '2030-01-02T03:04:05Z'],
    ["duration('90s')", '90s'],
    ['optional.of([1])', [1]],
    ['optional.none()', null],
    ["[1].map(x, {'x': x})", [{ x: 1 }]],
    ["{'__proto__': 1}", Object.fromEntries([['__proto__', 1]])],
  ])('%s', (expression, json) => {
    expect(evaluated(expression)).toEqual(json);
  });

  it('are errors where JSON has no such value', () => {
    expect(isError(evaluated('{1: 2}'))).toBe(true);
    expect(isError(evaluated("quantity('1')"))).toBe(true);
    expect(isError(evaluated('[type(1)]'))).toBe(true);
  });
});
