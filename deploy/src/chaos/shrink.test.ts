import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shrink } from './shrink.ts';

const never = new AbortController().signal;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test('what is left fails, and does not without any one of its elements', async () => {
  const cases = fc.record({
    count: fc.integer({ min: 1, max: 30 }),
    culprits: fc.uniqueArray(fc.nat({ max: 29 }), { minLength: 1, maxLength: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ count, culprits }) => {
      const wanted = [...new Set(culprits.map((culprit) => culprit % count))];
      const asked: string[] = [];
      const fails = (part: readonly number[]) => {
        asked.push(part.join());
        return Promise.resolve(wanted.every((one) => part.includes(one)));
      };
      expect(await shrink(numbers(count), fails, never)).toEqual(wanted.toSorted((one, other) => one - other));
      expect(new Set(asked).size).toBe(asked.length);
    }),
  );
});

test('of causes that suffice alone, one is left', async () => {
  const fails = (part: readonly number[]) => Promise.resolve(part.includes(3) || part.includes(17));
  expect(await shrink(numbers(20), fails, never)).toHaveLength(1);
});

test('a failure that does not come again leaves the whole list', async () => {
  expect(await shrink(numbers(5), () => Promise.resolve(false), never)).toEqual(numbers(5));
});

test('it ends early with the smallest part that was found', async () => {
  const stop = new AbortController();
  const fails = () => {
    stop.abort();
    return Promise.resolve(true);
  };
  expect(await shrink(numbers(8), fails, stop.signal)).toEqual([0, 1, 2, 3]);
});
