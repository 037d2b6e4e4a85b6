import { describe, expect, it } from 'vitest';
import { parseJsonPath } from './json-path.ts';

const object = {
  spec: {
    n: 1,
    'a.b': 2,
    list: [
      { type: 'x', v: 3 },
      { type: 'y', v: 4 },
    ],
  },
};

describe('a JSON path', () => {
  it.each([
    ['.spec.n', 1],
    ['$.spec.n', 1],
    ["['spec']['n']", 1],
    ['.spec.a\\.b', 2],
    ["['spec']['a.b']", 2],
    ['.spec.list[0].v', 3],
    ['.spec.list[-1].v', 4],
    ['.spec.list[*].v', 3],
    ['.spec.list[?(@.type=="y")].v', 4],
    ['.spec.list[?(@.v>3)].type', 'y'],
    ['.spec.nothing.there', undefined],
    ['.spec.constructor', undefined],
    ['.spec.list[?(@.constructor)].v', undefined],
    ['.spec[', undefined],
  ])('%s leads to %j', (path, value) => {
    expect(parseJsonPath(path)(object)).toEqual(value);
  });

  it('is read in linear time', () => {
    expect(parseJsonPath(`[${'"a"'.repeat(100_000)}`)(object)).toBeUndefined();
  });
});
