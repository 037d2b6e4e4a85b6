import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSyntaxError, MAX_DEPTH, NumberLiteral, parseJsonText, plainJson } from './json-parser.ts';

describe('parseJsonText', () => {
  it('reads whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(plainJson(parseJsonText(text).value)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('accepts and refuses the same texts as JSON.parse', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-',
      '.5',
      'e3',
      'true',
      'nul',
      'null',
      ' ',
      '"\\u00e9"',
      '"\\x"',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        expect(outcome(() => parseJsonText(text))).toBe(outcome(() => JSON.parse(text)));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['', 'unexpected end of JSON input'],
    ['nonsense', "invalid character 'o' in literal null (expecting 'u')"],
    ['{"a":1}{', "invalid character '{' after top-level value"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"', "invalid character '\"' after object key:value pair"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[,]', "invalid character ',' looking for beginning of value"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ['{"a":"x', 'unexpected end of JSON input'],
    ['1.', 'unexpected end of JSON input'],
    ['-x', "invalid character 'x' in numeric literal"],
  ])('says what is wrong with %j', (text, message) => {
    expect(() => parseJsonText(text)).toThrow(new JsonSyntaxError(message));
  });

  it('names every repeated key by its path; the last value counts', () => {
    const { value, duplicates } = parseJsonText('{"a":[{"b":1,"b":2}],"c":{"d":1,"d":1,"d":3},"a":[]}');
    expect(duplicates).toEqual(['a[0].b', 'c.d', 'c.d', 'a']);
    expect(value).toEqual({ a: [], c: { d: 3 } });
  });

  it('keeps the text of numbers that a double cannot hold', () => {
    expect(parseJsonText('[1,9007199254740993,1.0,1e3]').value).toEqual([
      1,
      new NumberLiteral('9007199254740993'),
      new NumberLiteral('1.0'),
      new NumberLiteral('1e3'),
    ]);
  });

  it('replaces half a surrogate pair and keeps whole ones', () => {
    expect(parseJsonText('"\\ud800 \\ud83d\\ude00"').value).toBe('\ufffd \u{1f600}');
  });

  it('refuses nesting that would end the stack', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseJsonText(nested(MAX_DEPTH))).not.toThrow();
    expect(() => parseJsonText(nested(100_000))).toThrow(new JsonSyntaxError('exceeded max depth'));
  });

  it('takes __proto__ for a key like any other', () => {
    const { value } = parseJsonText('{"__proto__":{"polluted":1}}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

function outcome(parse: () => unknown): string {
  try {
    parse();
    return 'fine';
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return 'refused';
    throw error;
  }
}
