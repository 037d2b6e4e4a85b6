import { expect, it } from 'vitest';
import { cloneWithEmpty, givenEmpty, markGivenEmpty, separateShares } from './given-empty.ts';

function job(): { metadata: { labels: object }; template: { labels: object; items: object[] } } {
  const labels = { app: 'web' };
  const object = { metadata: { labels }, template: { labels, items: [{ n: 1 }] } };
  markGivenEmpty(object.template, 'volumes', 'list');
  return object;
}

it('a copy has everything, shares nothing, and knows of what was written empty', () => {
  const object = job();
  const copy = cloneWithEmpty(object);
  expect(copy).toEqual(object);
  expect(copy.template.items[0]).not.toBe(object.template.items[0]);
  expect(copy.metadata.labels).not.toBe(object.metadata.labels);
  expect(copy.metadata.labels).not.toBe(copy.template.labels);
  expect(givenEmpty(copy.template, 'volumes')).toEqual([]);
});

it('what stands in several places is copied for all but the first', () => {
  const object = job();
  const { labels } = object.metadata;
  const items = object.template.items;
  separateShares(object);
  expect(object).toEqual(job());
  expect(object.metadata.labels).toBe(labels);
  expect(object.template.labels).not.toBe(labels);
  expect(object.template.items).toBe(items);
  expect(givenEmpty(object.template, 'volumes')).toEqual([]);
});
