import type { Turn } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { createEnvironment } from './compile/create-environment.ts';
import type { Evaluation, Program } from './environment/environment.ts';
import { Suspended } from './evaluate/frame.ts';
import { DYN } from './types.ts';
import { valueOfJson } from './values/json-value.ts';
import { CelError } from './values/value.ts';

const environment = createEnvironment({ variables: { a: DYN, b: DYN } });

function programOf(expression: string): Program {
  const compiled = environment.compile(expression);
  if (!compiled.ok) throw new Error(compiled.issues);
  return compiled.program;
}

/** A turn that ends after some checks of the time. Every call seems to take long, unless a clock is given. */
function turnOf(looks: number, clock?: () => number): Turn {
  let [now, left] = [0, looks];
  return { now: clock ?? (() => (now += 1)), isOver: () => --left <= 0 };
}

const words = Array.from({ length: 12 }, (_, n) => `${'x'.repeat(300)}${n % 5}`);
const a = valueOfJson({ words, numbers: [3, 1, 2], map: { k: 'v', l: 'w' }, pattern: '(x+)3' });

/** Evaluates with a new turn after every few checks of the time. */
function inTurns(
  program: Program,
  looks: number,
  clock?: () => number,
): { readonly result: Evaluation; readonly turns: number } {
  const run = program.begin({ a, b: null });
  for (let turns = 1; turns < 100_000; turns++) {
    const result = run.advance(turnOf(looks, clock));
    if (result !== undefined) return { result, turns };
  }
  throw new Error('the evaluation makes no progress');
}

describe('an evaluation in turns', () => {
  it.each([
    'a.words.all(x, a.words.exists(y, x == y))',
    'a.words.map(x, x + a.words[0]).filter(y, y.size() > 3).size() == 12',
    'a.words.all(x, a.words.all(y, a.numbers.all(n, n > 0 && x.size() + y.size() > n)))',
    'a.words.exists_one(x, x.matches(a.pattern)) || a.words.exists(x, x.find(a.pattern) != "")',
    'a.words.all(x, !x.matches(a.pattern) || x.matches(a.pattern)) && a.words.size() == 12',
    'a.map.transformMap(k, v, v + k).all(k, a.map.exists(l, l == k))',
    'a.words.transformList(i, v, string(i) + v).distinct().size() == 12 && a.words == a.words',
    '[a.words, a.numbers, a.words].map(l, l.map(x, l.indexOf(x)).sum()).sum() == 135',
    'a.words.map(x, a.missing)',
    'a.words.all(x, a.words[100] == x)',
    'a.words == a.words && a.words != a.numbers && a.words.join() != "" && a.words.join(",").split(",") == a.words',
    'lists.range(300).all(y, lists.range(1000).all(z, y + z >= 0))',
  ])('has the result and the cost of one without: %s', (expression) => {
    const program = programOf(expression);
    const expected = program.evaluate({ a, b: null });
    for (const looks of expected.cost > 100_000 ? [70_000] : [1, 2, 3]) {
      const { result, turns } = inTurns(program, looks);
      expect(result).toEqual(expected);
      expect(turns).toBeGreaterThan(1);
    }
  });

  it('does not compute again what took long with small arguments', () => {
    const before = process.threadCpuUsage().user;
    const expression = 'lists.range(200000 + a.numbers[1])[5] > 0 && lists.range(500).all(y, y >= 0)';
    const { result } = inTurns(programOf(expression), 2, () => performance.now());
    expect(result).toMatchObject({ ok: true, value: true });
    expect(process.threadCpuUsage().user - before).toBeLessThan(1_500_000);
  });

  it('asks again for a variable that needs a turn of its own', () => {
    let asked = 0;
    const b = () => {
      if (++asked < 4) throw new Suspended();
      return new CelError('found');
    };
    const run = programOf('a.words.all(x, x.size() > 1) && b').begin({ a, b });
    const results = Array.from({ length: 40 }, () => run.advance(turnOf(3))).filter((result) => result !== undefined);
    expect(results[0]).toMatchObject({ ok: false, error: 'found' });
    expect(asked).toBe(4);
  });
});
