import { describe, expect, it } from 'vitest';
import { createEnvironment } from './compile/create-environment.ts';
import type { Bindings, Evaluation } from './environment/environment.ts';
import { declareFunction } from './environment/function-declaration.ts';
import { DYN } from './types.ts';
import { ArrayList } from './values/collections.ts';
import { valueOfJson } from './values/json-value.ts';
import { equalValues, LiteralSet } from './values/compare.ts';
import { CelDuration, CelTypeValue, CelUint, type CelValue } from './values/value.ts';

const calls: string[] = [];
const counted = declareFunction('check', ['counted_check', '(int) -> bool', () => calls.push('check') > 0]);
const environment = createEnvironment({ variables: { a: DYN }, functions: [counted] });

function programOf(expression: string) {
  const compiled = environment.compile(expression);
  if (!compiled.ok) throw new Error(compiled.issues);
  return compiled.program;
}

const evaluate = (expression: string, bindings: Bindings = {}, limit = Infinity): Evaluation =>
  programOf(expression).evaluate(bindings, limit);

/** A list that was joined with itself this many times. */
const doubled = (times: number) => `[[0]]${'.map(x, x + x)'.repeat(times)}[0]`;

/** The minimum CPU time of a few runs, in microseconds. */
function cpuOf(run: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage().user;
    run();
    return process.threadCpuUsage().user - before;
  });
  return Math.min(...times);
}

describe('membership in a list of literals', () => {
  const values: readonly CelValue[] = [
    ...[0n, 1n, 9_007_199_254_740_993n, 0, -0, 1, 1.5, NaN, Infinity],
    ...[new CelUint(1n), new CelUint(2n), null, true, false, '', '1', 'b1', Buffer.from('1'), new Uint8Array()],
    ...[new ArrayList([1n]), new CelDuration(1n), new CelTypeValue('int')],
  ];
  const literals = values.filter((value) => value === null || typeof value !== 'object' || value instanceof CelUint);

  it('is by equality', () => {
    for (const literal of [...literals, Buffer.from('1'), new Uint8Array()]) {
      const found = values.filter((value) => new LiteralSet([literal, 'other']).has(value));
      expect(found).toEqual(values.filter((value) => equalValues(value, literal)));
    }
  });

  it('compares numbers of different types exactly, == as doubles', () => {
    expect(new LiteralSet([9_007_199_254_740_993n]).has(9_007_199_254_740_992)).toBe(false);
    expect(equalValues(9_007_199_254_740_993n, 9_007_199_254_740_992)).toBe(true);
    expect(equalValues(9_007_199_254_740_993n, 9_007_199_254_740_992n)).toBe(false);
  });

  it.each([
    ['1u', '[1, 2]', true],
    ['1.5', '[1, 2]', false],
    ["double('NaN')", '[0.0, 1.0]', false],
    ['a.l', "['1']", false],
    ['a.z', '[null]', true],
  ])('compares values of other types: %s in %s', (element, list, expected) => {
    const a = valueOfJson({ z: null, l: [1] });
    expect(evaluate(`dyn(${element}) in ${list}`, { a })).toMatchObject({ ok: true, value: expected });
  });

  it('takes no longer for more literals', () => {
    const a = valueOfJson(Array.from({ length: 4000 }, (_, n) => `item-${n}`));
    const cpu = (literals: number) => {
      const list = Array.from({ length: literals }, (_, n) => `'name-${n}'`).join(', ');
      const program = programOf(`a.exists(x, x in [${list}])`);
      return cpuOf(() => program.evaluate({ a }));
    };
    const [few, many] = [cpu(50), cpu(3200)];
    expect(many / Math.max(few, 1000)).toBeLessThan(8);
  });
});

describe('the size of a map', () => {
  it.each(['a.m.size() == 2', 'a.l[0].size() == 2', 'a.m.all(k, k != "")'])('is found once: %s', (expression) => {
    let asked = 0;
    const map = () =>
      new Proxy({ b: 1, c: 2 }, { ownKeys: (fields) => [asked++, Reflect.ownKeys(fields)][1] as string[] });
    const a = valueOfJson({ m: map(), l: [map()] });
    expect(evaluate(`lists.range(100).all(i, ${expression})`, { a })).toMatchObject({ ok: true, value: true });
    expect(asked).toBe(1);
  });
});

describe('a result', () => {
  it('of a concatenation ends at a million elements', () => {
    expect(evaluate(`${doubled(19)}.size()`)).toMatchObject({ value: 524_288n });
    expect(evaluate(doubled(20))).toMatchObject({ ok: false, error: 'result has more than 1000000 elements' });
  });

  it.each([
    "a.replace('x', a)",
    "a.replace('', a)",
    "lists.range(2000).map(i, a).join('')",
    "'%s'.format([lists.range(2000).map(i, a)])",
  ])('that is a text ends at ten million characters: %s', (expression) => {
    const a = 'x'.repeat(10_000);
    expect(evaluate(expression, { a })).toMatchObject({ error: 'result has more than 10000000 characters' });
  });

  it.each([
    ["a.replace('x', a)", "a.replace('x', 'yyy')"],
    ["'%s'.format([lists.range(3000).map(i, a)])", "'%s%s'.format([a, a])"],
  ])('that is a long text costs more than what it was made of: %s', (long, short) => {
    const a = 'x'.repeat(3000);
    const costs = [long, short].map((expression) => evaluate(`${expression}.size() > 0`, { a }).cost);
    expect(costs[0]).toBeGreaterThan(800_000);
    expect(costs[1]).toBeLessThan(3000);
    expect(evaluate(`[1, 2].map(i, ${long})`, { a }, 1_000_000)).toMatchObject({ ok: false });
  });

  it('that is too long a text costs what the longest one does', () => {
    const a = 'x'.repeat(10_000);
    const long = "'%s'.format([lists.range(1001).map(i, a)]) == '' || true";
    expect(evaluate(long, { a })).toMatchObject({ ok: true, value: true });
    expect(evaluate(long, { a }).cost).toBeGreaterThan(900_000);
  });

  it('that is flattened ends there too, where lists hold one another', () => {
    let a: CelValue = new ArrayList([]);
    for (let level = 0; level < 40; level++) a = new ArrayList([a, a]);
    expect(evaluate('a.flatten(50)', { a })).toMatchObject({ error: 'result has more than 1000000 elements' });
    expect(evaluate('[[1, 2], [3], []].flatten()')).toMatchObject({ cost: 14 });
  });
});

describe('a call', () => {
  it('is paid for before it is made', () => {
    calls.length = 0;
    const outcome = evaluate('[1, 2, 3, 4].exists(n, !check(n))', {}, 1_000_000);
    expect(outcome).toMatchObject({ ok: false, error: 'operation cancelled: actual cost limit exceeded' });
    expect(calls).toHaveLength(2);
  });

  it.each([
    ['lists.range(1000)', 1011],
    ['lists.range(1000).reverse()', 2022],
    ['lists.range(1000).slice(10, 20)', 1032],
    ["['ab', 'cd'].join(',')", 1],
    ["['ab', 'cd'].map(x, 1).slice(1, 7) == [1]", undefined],
  ])('costs what its result has: %s', (expression, cost) => {
    const outcome = evaluate(expression);
    if (cost === undefined) expect(outcome.ok).toBe(false);
    else expect(outcome).toMatchObject({ ok: true, cost });
  });
});
