import { expect, it } from 'vitest';
import type { KubeObject } from '@gantry/objects';
import { readConverted } from './converted-object.ts';

const original: KubeObject = {
  apiVersion: 'g.org/v1',
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'n', uid: 'u', labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['x/y'] },
};
const converted = (metadata: object, more: object = {}) => ({
  apiVersion: 'g.org/v2',
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'n', uid: 'u', ...metadata },
  ...more,
});
const AT = 'returned invalid object at index 0: ';

it.each<[string, unknown, string]>([
  ['nothing', null, 'unexpected end of JSON input'],
  ['no kind', { apiVersion: 'g.org/v2' }, `Object 'Kind' is missing in '{"apiVersion":"g.org/v2"}'`],
  ['the old version', original, `${AT}invalid groupVersion (expected g.org/v2, received g.org/v1)`],
  ['another kind', converted({}, { kind: 'Other' }), `${AT}invalid kind (expected Thing, received Other)`],
  ['no metadata', { ...converted({}), metadata: undefined }, 'returned invalid object: must have the same name: a != '],
  ['another namespace', converted({ namespace: 'm' }), 'returned invalid object: must have the same namespace: n != m'],
  ['another UID', converted({ uid: 'v' }), 'returned invalid object: must have the same UID: u != v'],
  [
    'numbers for labels',
    converted({ labels: { a: 1 } }),
    'returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
  ],
  [
    'a list of annotations',
    converted({ annotations: [] }),
    'returned invalid metadata: invalid metadata.annotations of type []interface {} in converted object',
  ],
])('a conversion to %s is refused', (_name, value, why) => {
  expect(readConverted(original, value, 'g.org/v2')).toMatchObject({ ok: false, why });
});

it('labels that are not valid are refused', () => {
  const read = readConverted(original, converted({ labels: { 'a b': 'c d' } }), 'g.org/v2');
  expect(read.ok ? '' : read.why).toMatch(
    /^returned invalid metadata: \[metadata.labels: Invalid value: "a b": .*, metadata.labels: Invalid value: "c d": /,
  );
});

it('labels and annotations may change, and no other metadata', () => {
  const read = readConverted(
    original,
    converted({ labels: { a: 'z' }, finalizers: [] }, { spec: { n: 1 } }),
    'g.org/v2',
  );
  expect(read).toEqual({
    ok: true,
    object: {
      apiVersion: 'g.org/v2',
      kind: 'Thing',
      metadata: { name: 'a', namespace: 'n', uid: 'u', labels: { a: 'z' }, finalizers: ['x/y'] },
      spec: { n: 1 },
    },
  });
});
