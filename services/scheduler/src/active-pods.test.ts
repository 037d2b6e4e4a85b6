import { seededRandom } from '@gantry/base';
import { expect, it } from 'vitest';
import { ActivePods } from './active-pods.ts';

it('takes pods by priority, then by age, then in the order of arrival', () => {
  const random = seededRandom(3);
  const active = new ActivePods();
  const pods = Array.from({ length: 500 }, (_, number) => ({
    info: { priority: Math.floor(random() * 4) },
    addedMs: Math.floor(random() * 20),
    number,
  }));
  const taken: unknown[] = [];
  for (const [i, pod] of pods.entries()) {
    active.push(pod);
    if (i % 5 === 4) {
      const first = active.shift();
      if (first !== undefined) active.push(first);
    }
  }
  expect(active.size).toBe(500);
  for (let next = active.shift(); next !== undefined; next = active.shift()) taken.push(next);
  const expected = pods.toSorted(
    (a, b) => b.info.priority - a.info.priority || a.addedMs - b.addedMs || a.number - b.number,
  );
  expect(taken).toEqual(expected);
});
