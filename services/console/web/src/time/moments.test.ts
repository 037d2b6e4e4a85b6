import { expect, test } from 'vitest';
import { indexOf, momentsOf } from './moments.ts';

const at = '2026-01-01T00:00:00Z';
const moments = momentsOf({
  oldest: { resourceVersion: '256', at: null },
  marks: [
    { resourceVersion: '512', at },
    { resourceVersion: '9007199254740993', at },
  ],
});

test('the oldest version is a moment of its own unless a mark has it', () => {
  expect(moments.map(({ resourceVersion }) => resourceVersion)).toEqual(['256', '512', '9007199254740993']);
  expect(momentsOf({ oldest: { resourceVersion: '512', at }, marks: [{ resourceVersion: '512', at }] })).toHaveLength(
    1,
  );
});

test.each([
  ['256', 0],
  ['257', 1],
  ['9007199254740993', 2],
  ['9007199254740994', 2],
  ['', 2],
  ['abc', 2],
  ['-1', 2],
  ['1e3', 2],
  ['9'.repeat(1_000_000), 2],
])('the moment at %.20s has the index %i', (version, index) => {
  expect(indexOf(moments, version)).toBe(index);
});
