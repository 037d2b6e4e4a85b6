import { expect, test } from 'vitest';
import { YoungCollections } from './young-collections.ts';

test('the young generation is collected once for every MiB that has passed', () => {
  let collections = 0;
  const young = new YoungCollections(() => collections++);
  const seen: number[] = [];
  for (let part = 0; part < 128; part++) {
    young.passed(65_536);
    seen.push(collections);
  }
  expect([seen[14], seen[15], seen[30], seen[31], seen[127]]).toEqual([0, 1, 1, 2, 8]);
});
