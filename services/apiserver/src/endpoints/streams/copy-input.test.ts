import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { copyInput } from './copy-input.ts';

/** The number of bytes of each part that an agent gets, or `end`; from the part on with the number `fails`, sending fails. */
async function copied(chunks: Iterable<Buffer>, fails = Number.POSITIVE_INFINITY): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  const take = (part: unknown) => {
    if (seen.length >= fails) return Promise.reject(new Error('the call was cancelled'));
    seen.push(part);
    return Promise.resolve();
  };
  await copyInput(Readable.from(chunks), { data: ({ length }) => take(length), end: () => take('end') });
  return seen;
}

test('what a client sends at once reaches the agent in parts that it takes', async () => {
  const seen = await copied([Buffer.alloc(2 ** 20 + 7), Buffer.alloc(3)]);
  expect(seen).toEqual([2 ** 18, 2 ** 18, 2 ** 18, 2 ** 18, 7, 3, 'end']);
});

test('copying ends where the client breaks off or the call has ended', async () => {
  const broken = (function* () {
    yield Buffer.alloc(1);
    throw new Error('reset');
  })();
  expect(await copied(broken)).toEqual([1]);
  expect(await copied([Buffer.alloc(1), Buffer.alloc(2)], 1)).toEqual([1]);
});
