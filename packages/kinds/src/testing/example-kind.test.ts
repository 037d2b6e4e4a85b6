import { decodeObject, validateChange, validateNew } from '@gantry/apimachinery';
import { expect, it } from 'vitest';
import { type Widget, widgets } from './example-kind.ts';

/** A stored widget: rules on changes compare the whole metadata. */
function widget(size: number): Widget {
  const metadata = {
    name: 'a',
    namespace: 'default',
    uid: '5e0f1d7c-6a2b-4c7e-9a53-0d1f3c1b2a49',
    resourceVersion: '1',
    creationTimestamp: '2030-01-02T03:04:05Z',
  };
  return { apiVersion: 'example.dev/v1', kind: 'Widget', metadata, spec: { size } };
}

it.each([
  [1, []],
  [0, ['spec.size']],
])('a new widget of size %i has errors at %j', (size, fields) => {
  expect(validateNew(widgets, widget(size)).map(({ field }) => field)).toEqual(fields);
});

it('a widget may grow, and may not shrink', () => {
  expect(validateChange(widgets, widget(3), widget(2))).toEqual([]);
  expect(validateChange(widgets, widget(2), widget(3))).toMatchObject([
    { field: 'spec.size', detail: 'a widget may not shrink' },
  ]);
});

it('a change that takes the spec away is refused by the schema, and the own rules are not asked', () => {
  const { spec: _, ...without } = widget(1);
  expect(validateChange(widgets, without, widget(1))).toMatchObject([{ field: 'spec', type: 'FieldValueRequired' }]);
});

it('a field of the wrong type is reported by the schema', () => {
  const wrong = { ...widget(1), spec: { size: 'big' } };
  expect(validateNew(widgets, wrong)).toMatchObject([{ field: 'spec.size' }]);
});

it('a default is set when a widget is decoded', () => {
  const bytes = Buffer.from(JSON.stringify(widget(1)));
  const { object } = decodeObject({ bytes, mediaType: 'application/json', definition: widgets, mode: 'Strict' });
  expect(object).toMatchObject({ spec: { size: 1, color: 'red' } });
});
