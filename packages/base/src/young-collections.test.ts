import { expect, test } from 'vitest';
import { YoungCollections } from './young-collections.ts';

test('the young generation is collected once for every 2 MiB that have passed', () => {
  let collections = 0;
  const young = new YoungCollections(() => collections++);
  const seen: number[] = [];
  for (let part = 0; part < 128; part++) {
    young.passed(65_536);
    seen.push(collections);
  }
  expect([seen[30], seen[31], seen[62], seen[63], seen[127]]).toEqual([0, 1, 1, 2, 4]);
});
