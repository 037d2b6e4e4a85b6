import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEnvironment } from './compile/create-environment.ts';
import { DYN } from './types.ts';
import { ArrayList, joinLists } from './values/collections.ts';
import { valueOfJson } from './values/json-value.ts';

const environment = createEnvironment({ variables: { a: DYN } });
const pieces = [
  'a',
  '.',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '?',
  ':',
  '+',
  '-',
  '!',
  '&&',
  '||',
  '==',
  'in',
  '1',
  "'x'",
  ',',
  'b',
  '.all(x, ',
  'x',
  '.map(y, ',
  'size',
  'has(',
  '.?',
  '0x',
  '"',
  '#',
  'null',
  ' ',
];

function evaluate(expression: string): string {
  const compiled = environment.compile(expression);
  if (!compiled.ok) return compiled.issues;
  const result = compiled.program.evaluate({ a: valueOfJson({ b: [1, { c: 'd' }], x: null }) });
  return result.ok ? 'ok' : result.error;
}

describe('patterns of objects', () => {
  const program = (expression: string) => {
    const compiled = environment.compile(expression);
    if (!compiled.ok) throw new Error(compiled.issues);
    return compiled.program;
  };
  const pattern = (n: number) => `${String(n).padStart(4, '0')}${'a'.repeat(996)}`;
  const patterns = (count: number) => ({ a: valueOfJson(Array.from({ length: count }, (_, n) => pattern(n))) });

  it.each(["a.all(p, !'x'.matches(p))", "a.all(p, 'x'.find(p) == '')", "a.all(p, 'x'.findAll(p).size() == 0)"])(
    'cost what compiling them takes: %s',
    (expression) => {
      expect(program(expression).evaluate(patterns(20))).toMatchObject({ ok: true });
      expect(program(expression).evaluate(patterns(100))).toMatchObject({
        ok: false,
        error: 'operation cancelled: actual cost limit exceeded',
      });
    },
  );

  it('are paid for once in an evaluation; literals are not', () => {
    const cost = (expression: string) => program(expression).evaluate(patterns(1)).cost;
    const literal = cost(`!'x'.matches('${pattern(0)}')`);
    const supplied = cost("!'x'.matches(a[0])");
    const twice = cost("!'x'.matches(a[0]) && !'x'.matches(a[0])");
    expect(supplied - literal).toBeGreaterThan(16_000);
    expect(twice).toBeLessThan(2 * supplied - 16_000);
  });
});

describe('hostile expressions', () => {
  it('never throw', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (parts) => {
        expect(typeof evaluate(parts.join(''))).toBe('string');
      }),
      { numRuns: 2_000 },
    );
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => typeof evaluate(text) === 'string'));
  });

  it.each([
    ['parentheses', '('.repeat(5_000), /recursion|Syntax/],
    ['lists', `${'['.repeat(3_000)}1${']'.repeat(3_000)}`, /recursion/],
    ['negations', `${'!'.repeat(9_000)}true`, /^ok$/],
    ['sums', `1${'+1'.repeat(4_000)}`, /recursion/],
    ['selections', `a${'.b'.repeat(4_000)}`, /recursion/],
    ['terms', `true${' && true'.repeat(2_499)}`, /^ok$/],
    ['many terms', `true${' && true'.repeat(2_500)}`, /expression has 5001 parts, limit 5000/],
    ['many tokens', `[${'!true,'.repeat(3_500)}true]`, /expression has more than 10000 tokens/],
    ['many macros', `true${' && [1].all(x, x == 1)'.repeat(500)}`, /expression has \d+ parts, limit 5000/],
    ['copies by macros', `[${'a.?b.optMap(x, x),'.repeat(500)}a]`, /expression has \d+ parts, limit 5000/],
    ['invalid characters', '#\n'.repeat(45_000), /Syntax error: token recognition error at: '#'/],
    ['text', `'${'x'.repeat(200_000)}'`, /expression code point size exceeds limit: size: 200002, limit 100000/],
    ['number', '9'.repeat(50_000), /invalid int literal/],
    ['pattern', `'${'a'.repeat(30_000)}b'.matches('(a+)+$')`, /^ok$|cost limit/],
    ['optionals', `optional.of(1)${'.optMap(x, x)'.repeat(60)}`, /too large/],
    [
      'loops',
      `lists.range(1000).all(x, lists.range(1000).all(y, lists.range(1000).all(z, x + y + z >= 0)))`,
      /cost limit exceeded/,
    ],
    ['growth', `lists.range(1000000000).size() > 0`, /exceeds/],
  ])('are bounded in time and memory: %s', (_name, expression, outcome) => {
    expect(evaluate(expression)).toMatch(outcome);
  });

  it.each([
    ['duration', '11s'.repeat(30_000)],
    ['double', '1'.repeat(90_000)],
    ['quantity', '1'.repeat(90_000)],
  ])('read texts that are no %s in linear time', (type, text) => {
    expect(evaluate(`${type}('${text}!')`)).toMatch(/invalid duration|conver|parse|match/);
  });

  it('compile to the same types at any depth', () => {
    const deep = (depth: number) => `${'optional.of('.repeat(depth)}1${')'.repeat(depth)}`;
    expect(evaluate(`[${deep(200)}, ${deep(200)}]`)).toBe('ok');
    expect(evaluate(`[${deep(200)}, ${deep(199)}]`)).toMatch(/expected type/);
  });

  it.each([
    ['map', 'lists.range(40000).map(x, x).all(y, y >= 0)'],
    ['filter', 'lists.range(40000).filter(x, x != 7).all(y, y >= 0)'],
    ['transformList', 'lists.range(40000).transformList(i, v, v).all(y, y >= 0)'],
    ['transformMap', 'lists.range(40000).transformMap(i, v, v).size() == 40000'],
    ['transformMapEntry', 'lists.range(20000).transformMapEntry(i, v, {v: v}).size() == 20000'],
  ])('grow a collection one by one in linear time: %s', (_name, expression) => {
    const before = process.threadCpuUsage().user;
    expect(evaluate(expression)).toBe('ok');
    expect(process.threadCpuUsage().user - before).toBeLessThan(3_000_000);
  });

  it('see in a collection only what was there when it was made', () => {
    const grown = '[[1].map(x, x)].map(l, [l, l + [2], l + [3], (l + [2]) + [4]])[0]';
    expect(evaluate(`${grown} == [[1], [1, 2], [1, 3], [1, 2, 4]] ? 1 : a.unequal`)).toBe('ok');
  });

  it('do not copy a long list for each list that branches off', () => {
    const long = joinLists(
      joinLists(new ArrayList([]), new ArrayList(Array.from({ length: 64 }, () => 1n))),
      new ArrayList([2n]),
    );
    let grown = long;
    for (let n = 0; n < 20_000; n++) grown = joinLists(grown, new ArrayList([3n]));
    const before = process.memoryUsage().heapUsed;
    const branches = Array.from({ length: 10_000 }, () => joinLists(grown, new ArrayList([4n])));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000_000);
    expect(branches.every((branch) => branch.size === 20_066 && branch.at(20_065) === 4n)).toBe(true);
  });

  it.each(['[null].all(x, x == null)', 'optional.of(null).optMap(x, x == null).value()'])(
    'know a variable whose value is null: %s',
    (expression) => {
      expect(evaluate(`${expression} ? 1 : a.unequal`)).toBe('ok');
    },
  );

  it('trim strings with long runs of white space in linear time', () => {
    expect(evaluate(`'a${' '.repeat(90_000)}a'.trim()`)).toBe('ok');
  });
});
