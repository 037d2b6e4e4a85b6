import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatYaml } from './go-yaml.ts';

const long = 'a long text with many words that goes on and on beyond the width of eighty columns and is broken';

/** The expected texts were written by Kubernetes 1.36. */
it.each([
  [{ b: 1, a: [] }, 'a: []\nb: 1\n'],
  [{ a10: 1, a2: 2, 'a.b': 3, B: 4, x: {} }, 'B: 4\na.b: 3\na2: 2\na10: 1\nx: {}\n'],
  [{ f100: 1, f11: 2, f105: 3, f1_: 4, f01: 5, f1: 6 }, 'f1: 6\nf1_: 4\nf01: 5\nf11: 2\nf100: 1\nf105: 3\n'],
  [{ l: [{ b: 1, a: [1, 2] }, [1, [2]], {}, 'x'] }, 'l:\n- a:\n  - 1\n  - 2\n  b: 1\n- - 1\n  - - 2\n- {}\n- x\n'],
  [
    { n: 'yes', t: '2020-01-01', s: '12:30', f: '1e3', e: '', p: 'x:y' },
    'e: ""\nf: "1e3"\n"n": "yes"\np: x:y\ns: "12:30"\nt: "2020-01-01"\n',
  ],
  [
    { a: 'a: b', b: 'a #b', c: "it's", d: "'q'", e: '@a', f: ' x' },
    "a: 'a: b'\nb: 'a #b'\nc: it's\nd: '''q'''\ne: '@a'\nf: ' x'\n",
  ],
  [
    { a: 'x\ny', b: 'x\n', c: 'x\n\n', d: '  x\ny', e: 'x \ny' },
    'a: |-\n  x\n  y\nb: |\n  x\nc: |+\n  x\n\nd: |2-\n    x\n  y\ne: "x \\ny"\n',
  ],
  [{ a: 'a\tb', b: '\u0001', c: '\u00e9', d: '\t\u00a0' }, 'a: "a\\tb"\nb: "\\x01"\nc: \u00e9\nd: "\\t\u00a0"\n'],
  [
    { a: { b: long } },
    'a:\n  b: a long text with many words that goes on and on beyond the width of eighty columns\n    and is broken\n',
  ],
  [
    { a: `k: ${long}` },
    "a: 'k: a long text with many words that goes on and on beyond the width of eighty\n  columns and is broken'\n",
  ],
  [[1, null, true], '- 1\n- null\n- true\n'],
])('writes %j as Go does', (value, text) => {
  expect(formatYaml(value)).toBe(text);
});

it('writes what reads as it was', () => {
  const file = new URL('../../../../integration-tests/golden/codec.jsonl', import.meta.url);
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const value: unknown = JSON.parse(line);
    expect(parse(formatYaml(value), { version: '1.1', schema: 'yaml-1.1' })).toEqual(value);
  }
});
