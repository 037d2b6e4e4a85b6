import { expect, it } from 'vitest';
import { cloneWithEmpty, cloneWithShares, givenEmpty, markGivenEmpty } from './given-empty.ts';

function job(): { metadata: { labels: object }; template: { labels: object; items: object[] } } {
  const labels = { app: 'web' };
  const object = { metadata: { labels }, template: { labels, items: [{ n: 1 }] } };
  markGivenEmpty(object.template, 'volumes', 'list');
  return object;
}

it.each([
  ['cloneWithShares', cloneWithShares, true],
  ['cloneWithEmpty', cloneWithEmpty, false],
] as const)('%s copies everything; what stood twice is one object: %s', (_name, clone, isShared) => {
  const object = job();
  const copy = clone(object);
  expect(copy).toEqual(object);
  expect(copy.template.items[0]).not.toBe(object.template.items[0]);
  expect(copy.metadata.labels).not.toBe(object.metadata.labels);
  expect(copy.metadata.labels === copy.template.labels).toBe(isShared);
  expect(givenEmpty(copy.template, 'volumes')).toEqual([]);
});
