import { expect, it } from 'vitest';
import { SECRETS } from '../index.ts';
import { differences, endState } from './end-state.ts';

const secret = (name: string, rest: object = {}) => ({
  resource: SECRETS,
  object: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'a', uid: name, resourceVersion: '7' },
    ...rest,
  },
});
const generated = (name: string) => {
  const { resource, object } = secret(name);
  return { resource, object: { ...object, metadata: { ...object.metadata, generateName: 's-' } } };
};

it('compares objects without what depends on time', () => {
  expect(differences(endState([secret('x')]), endState([{ ...secret('x'), resource: SECRETS }]))).toEqual([]);
  expect(differences(endState([generated('s-1')]), endState([generated('s-2')]))).toEqual([]);
  expect(differences(endState([secret('x', { type: 'a' })]), endState([secret('x', { type: 'b' })]))).toHaveLength(2);
});

it('counts objects with generated names', () => {
  const [line] = endState([generated('s-1')]);
  expect(differences(endState([generated('s-1')]), endState([generated('s-1'), generated('s-2')]))).toEqual([
    `not expected: ${line}`,
  ]);
  expect(differences(endState([generated('s-1'), generated('s-2')]), endState([generated('s-1')]))).toEqual([
    `missing: ${line}`,
  ]);
});
