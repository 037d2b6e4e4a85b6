import type { KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { IndexedObjects } from './indexed-objects.ts';

const object = (name: string, color: string, resourceVersion: string, uid = name): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid, resourceVersion, labels: { color } },
});

function start() {
  const known = new IndexedObjects<KubeObject, 'color'>({
    color: ({ metadata }) => [metadata.labels?.['color'] ?? ''],
  });
  const names = (color: string) => known.in('color', color).map(({ metadata }) => metadata.name);
  return { known, names };
}

describe('indexed objects', () => {
  it('are found by key and by group, and leave a group that they are no longer in', () => {
    const { known, names } = start();
    known.take(object('a', 'red', '1'), undefined);
    known.take(object('b', 'red', '2'), undefined);
    expect(names('red')).toEqual(['a', 'b']);
    known.take(object('a', 'blue', '3'), object('a', 'red', '1'));
    expect([names('red'), names('blue')]).toEqual([['b'], ['a']]);
    known.take(undefined, object('b', 'red', '2'));
    expect([names('red'), known.get('b')]).toEqual([[], undefined]);
  });

  it('show an own write before the cache does, and are not set back by what it reports later', () => {
    const { known, names } = start();
    known.take(object('a', 'red', '1'), undefined);
    known.written(object('a', 'blue', '5'));
    known.take(object('a', 'green', '3'), object('a', 'red', '1'));
    expect([names('blue'), names('green')]).toEqual([['a'], []]);
  });

  it('do not come back by the late response to a write', () => {
    const { known } = start();
    known.take(object('a', 'red', '1'), undefined);
    known.take(undefined, object('a', 'red', '1'));
    known.written(object('a', 'blue', '5'));
    expect(known.get('a')).toBeUndefined();
  });

  it('stay when the object that is gone had another uid', () => {
    const { known } = start();
    known.take(object('a', 'red', '1', 'old'), undefined);
    known.take(object('a', 'red', '4', 'new'), undefined);
    known.take(undefined, object('a', 'red', '1', 'old'));
    expect(known.get('a')?.metadata.uid).toBe('new');
  });
});
