import { describe, expect, it } from 'vitest';
import { ResourceIndex } from './resource-index.ts';

const object = (name: string, color: string, resourceVersion = '1') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a', uid: name, resourceVersion, labels: { color } },
});
const byColor = ({ metadata }: { metadata: { labels?: Record<string, string> } }) => [metadata.labels?.['color'] ?? ''];

describe('an index of a user', () => {
  const found = (index: ResourceIndex, color: string) =>
    index.indexed(byColor, color).map(({ metadata }) => metadata.name);

  it('has what was there before it was made, and what changes later', () => {
    const index = new ResourceIndex();
    index.put(object('one', 'red'));
    expect(found(index, 'red')).toEqual(['one']);
    index.put(object('two', 'red'));
    index.put(object('one', 'blue', '2'));
    expect([found(index, 'red'), found(index, 'blue')]).toEqual([['two'], ['one']]);
    index.remove(object('two', 'red'));
    expect(found(index, 'red')).toEqual([]);
  });

  it('has nothing but what a new list has', () => {
    const index = new ResourceIndex();
    index.put(object('one', 'red'));
    expect(found(index, 'red')).toEqual(['one']);
    index.replace([object('two', 'red')]);
    expect(found(index, 'red')).toEqual(['two']);
  });
});
