import { expect, it } from 'vitest';
import { withCondition } from './conditions.ts';

const READY = { type: 'Ready', status: 'True', reason: 'Done', message: 'all' } as const;
const NOON = Date.UTC(2026, 0, 1, 12);

it('adds a condition, and keeps its time while the status stays', () => {
  const first = withCondition(undefined, READY, NOON);
  expect(first).toEqual([{ ...READY, lastTransitionTime: '2026-01-01T12:00:00Z' }]);
  expect(withCondition(first, READY, NOON + 60_000)).toEqual(first);
  const reworded = withCondition(first, { ...READY, message: 'still all' }, NOON + 60_000);
  expect(reworded[0]).toMatchObject({ message: 'still all', lastTransitionTime: '2026-01-01T12:00:00Z' });
});

it('changes the time with the status, in the place of the condition', () => {
  const other = { ...READY, type: 'Other', lastTransitionTime: '2025-01-01T00:00:00Z' };
  const before = [...withCondition(undefined, READY, NOON), other];
  const after = withCondition(before, { ...READY, status: 'False' }, NOON + 60_000);
  expect(after.map(({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime])).toEqual([
    ['Ready', 'False', '2026-01-01T12:01:00Z'],
    ['Other', 'True', '2025-01-01T00:00:00Z'],
  ]);
});
