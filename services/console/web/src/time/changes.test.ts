import type { KubeObject, ManagedFieldsEntry } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { changesBetween, commonPart } from './changes.ts';

const SINCE = Date.parse('2026-01-01T00:00:10.500Z');
const written = (manager: string, second: number): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  time: `2026-01-01T00:00:${second}Z`,
});
const object = (
  name: string,
  resourceVersion: string,
  more: object = {},
  managedFields: ManagedFieldsEntry[] = [],
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name, uid: name, resourceVersion, managedFields },
  ...more,
});

describe('changesBetween', () => {
  it('finds what was created, changed and deleted, in the order of names', () => {
    const before = [object('c', '1'), object('a', '1'), object('same', '1')];
    const after = [object('b', '5', {}, [written('kubectl', 20)]), object('same', '1'), object('a', '2')];
    const found = changesBetween(before, after, SINCE);
    expect(found.map(({ what, object: { metadata } }) => `${what} ${metadata.name ?? ''}`)).toEqual([
      'changed a',
      'created b',
      'deleted c',
    ]);
    expect(found[1]?.writers).toEqual(['kubectl (Update)']);
  });

  it('tells an object from a new one of the same name', () => {
    const again = object('a', '5');
    again.metadata.uid = 'other';
    expect(
      changesBetween([object('a', '1')], [again], SINCE)
        .map(({ what }) => what)
        .sort(),
    ).toEqual(['created', 'deleted']);
  });

  it('names the changed fields, in lists by the names of items', () => {
    const before = object('a', '1', {
      spec: { replicas: 1, containers: [{ name: 'x', image: '1' }], args: ['a'] },
      status: { 'a/b': 1 },
    });
    const after = object('a', '2', {
      spec: {
        replicas: 2,
        containers: [
          { name: 'y', image: '1' },
          { name: 'x', image: '2' },
        ],
        args: ['b'],
      },
      status: {},
    });
    expect(changesBetween([before], [after], SINCE)[0]?.fields).toEqual([
      { path: '.spec.replicas', before: '1', after: '2' },
      { path: '.spec.containers[name=x].image', before: '"1"', after: '"2"' },
      { path: '.spec.containers[name=y]', before: '', after: '{"name":"y","image":"1"}' },
      { path: '.spec.args', before: '["a"]', after: '["b"]' },
      { path: '.status["a/b"]', before: '1', after: '' },
    ]);
  });

  it('names those who wrote meanwhile: within the second of the moment, too', () => {
    const after = object('a', '2', {}, [written('old', 9), { ...written('new', 10), subresource: 'status' }]);
    expect(changesBetween([object('a', '1')], [after], SINCE)[0]?.writers).toEqual(['new (Update of status)']);
  });

  it('cuts long values, and lists no more than some fields', () => {
    const data = (value: string) => Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, value]));
    const found = changesBetween(
      [object('a', '1', { data: data('x') })],
      [object('a', '2', { data: data('y'.repeat(999)) })],
      SINCE,
    );
    expect(found[0]?.fields).toHaveLength(20);
    expect(found[0]?.fields[0]?.after.length).toBeLessThan(210);
  });
});

describe('commonPart', () => {
  const part = (names: string, isCut: boolean) => ({ items: [...names].map((name) => object(name, '1')), isCut });
  const namesOf = (before: string, after: string, cut: readonly [boolean, boolean]) => {
    const common = commonPart(part(before, cut[0]), part(after, cut[1]));
    return [common.before, common.after].map((items) => items.map(({ metadata }) => metadata.name).join(''));
  };

  it('leaves out what a new object has pushed out of the first part of a long list, which is not deleted', () =>
    expect(namesOf('bcd', 'abc', [true, true])).toEqual(['bc', 'abc']));

  it('leaves out what has come into the first part because another object has gone', () =>
    expect(namesOf('abc', 'bcd', [true, true])).toEqual(['abc', 'bc']));

  it('has all of lists that are complete, also when the other one is not', () => {
    expect(namesOf('ab', 'abcd', [false, false])).toEqual(['ab', 'abcd']);
    expect(namesOf('ab', 'abcd', [false, true])).toEqual(['ab', 'abcd']);
    expect(namesOf('abcde', 'abc', [false, true])).toEqual(['abc', 'abc']);
  });
});
