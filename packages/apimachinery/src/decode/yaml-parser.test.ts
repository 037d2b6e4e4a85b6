import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocument, stringify } from 'yaml';
import { plainJson } from '../values/json-parser.ts';
import { parseYamlText, YamlSyntaxError } from './yaml-parser.ts';

const read = (text: string): unknown => plainJson(parseYamlText(text).value);

/** Values for which the reference library's output is read the same by Go's rules and by its own. */
const json = fc.jsonValue({ maxDepth: 4 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

const styles = fc.record({
  indent: fc.constantFrom(2, 4),
  indentSeq: fc.boolean(),
  lineWidth: fc.constantFrom(0, 20, 80),
  collectionStyle: fc.constantFrom('any', 'flow'),
  defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'),
  version: fc.constant('1.1'),
} as const);

/** The reference library's result; undefined if it reports an error or warns. */
function reference(text: string): { readonly value: unknown } | undefined {
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  if (document.errors.length + document.warnings.length > 0) return undefined;
  try {
    return { value: JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: 1000, mapAsMap: false }))) as unknown };
  } catch {
    return undefined;
  }
}

function outcome(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: read(text) };
  } catch (error) {
    if (error instanceof YamlSyntaxError) return undefined;
    throw error;
  }
}

describe('parseYamlText', () => {
  it('reads whatever a YAML library writes, in every style', () => {
    fc.assert(
      fc.property(json, styles, (value, style) => {
        // The library writes some strings that start with a blank or a colon in a form that only it can read, and the key of a merge bare.
        fc.pre(!/[[{,:]"(?:[ \t:?]|\\[nrt]|<<":)/.test(JSON.stringify({ a: value })));
        expect(read(stringify({ a: value }, style))).toEqual({ a: value });
      }),
      { numRuns: 600 },
    );
  });

  it('reads every JSON text', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, 3), (value, space) => {
        expect(read(JSON.stringify(value, undefined, space))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('makes of any tokens what a YAML library makes of them, or refuses them', () => {
    const token = fc.constantFrom(
      ...[
        'a',
        'b',
        '- ',
        '? ',
        ': ',
        ':',
        ', ',
        '[',
        ']',
        '{',
        '}',
        '\n',
        '\n',
        '\n  ',
        '\n    ',
        '\n- ',
        '\na: ',
        '\n  b: ',
      ],
      ...[
        '"a"',
        "'b'",
        '"',
        "'",
        '&x ',
        '*x',
        '!!str ',
        '!t ',
        '|\n',
        '>\n',
        '|-\n  ',
        '>+\n  ',
        '# c',
        ' #c\n',
        '---\n',
        '...\n',
      ],
      ...['<<: ', '1', ' ', '~'],
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 10 }), (tokens) => {
        const text = `${tokens.join('')}\n`;
        // Go's decoder does not support block scalars at column 0.
        fc.pre(!/^ *(?:---\s+)?(?:[&!]\S*\s+)*[|>]/m.test(text));
        // Go's decoder has no numbers in base 60.
        fc.pre(!/\d:\d/.test(text));
        const [ours, theirs] = [outcome(text), reference(text)];
        if (ours !== undefined && theirs !== undefined) expect(ours).toEqual(theirs);
      }),
      { numRuns: 4000, seed: 20_261_122 },
    );
  });

  it.each([
    ['a: [b, c', "did not find expected ',' or ']'"],
    ['[,', 'did not find expected node content'],
    ['a: b: c', 'mapping values are not allowed in this context'],
    ['a: - b', 'block sequence entries are not allowed in this context'],
    ['a: "b', 'found unexpected end of stream'],
    ['a: "\\q"', 'found unknown escape character'],
    ['a: *b', "unknown anchor 'b' referenced"],
    ['a: &b [*b]', "anchor 'b' value contains itself"],
    ['a: b\n\tc: d', 'found a tab character that violates indentation'],
    ['a: .inf', 'json: unsupported value: +Inf'],
    ['a: !!int b', 'cannot decode !!str `b` as a !!int'],
    ['a: \x01', 'control characters are not allowed'],
    ['- '.repeat(2000), 'exceeded max depth'],
  ])('says what is wrong with %j', (text, message) => {
    expect(() => parseYamlText(text)).toThrow(message);
  });

  it('resolves scalars as Go does', () => {
    const text =
      '[y, No, ~, 0x1F, 010, 0b11, 1_000, 1:30, 1e3, .5, 2026-01-01, "1", !!str 1, 18446744073709551615, 1e999]';
    expect(read(text)).toEqual([
      true,
      false,
      null,
      31,
      8,
      3,
      1000,
      '1:30',
      1000,
      0.5,
      '2026-01-01',
      '1',
      '1',
      18446744073709552000,
      '1e999',
    ]);
  });

  it('reports keys that come twice, merges maps and repeats values by alias', () => {
    const text = 'a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n"<<": 4\na: 5\n';
    expect(parseYamlText(text)).toEqual({
      value: { a: 5, d: { b: 1, c: 3 }, '<<': 4 },
      duplicates: ['line 6: key "a" already set in map'],
    });
  });

  it('refuses more values, keys or lines than a request may have', () => {
    const tooMany = /limit is (?:50000 values|100000 lines)/;
    expect(() => parseYamlText('- a\n'.repeat(49_000))).not.toThrow();
    expect(() => parseYamlText(`[${'a,'.repeat(100_001)}]`)).toThrow(tooMany);
    expect(() => parseYamlText('#\n'.repeat(100_001))).toThrow(tooMany);
    const aliases = `a: &a [${'a,'.repeat(1000)}]\nb: [${'*a,'.repeat(1000)}]`;
    expect(() => parseYamlText(aliases)).toThrow('excessive aliasing');
  });
});
