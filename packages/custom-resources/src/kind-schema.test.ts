import type { KubeObject, Resource } from '@gantry/objects';
import { expect, it } from 'vitest';
import { kindSchema } from './kind-schema.ts';

interface Thing extends KubeObject {
  data?: string;
  spec?: { size: number };
  status?: { ready: boolean };
}

const THINGS: Resource<Thing> = { group: 'g.io', version: 'v1', resource: 'things', kind: 'Thing', namespaced: true };
const hooks = kindSchema(THINGS, { type: 'object' });

function thing(labels: Record<string, string>, fields: Partial<Thing>): Thing {
  return { apiVersion: 'g.io/v1', kind: 'Thing', metadata: { name: 'a', labels }, ...fields };
}

it('a new object has no status', () => {
  const object = thing({}, { spec: { size: 1 }, status: { ready: true } });
  hooks.dropStatus(object);
  expect(object).toEqual(thing({}, { spec: { size: 1 } }));
});

it('an update keeps the status, and that there is none', () => {
  const old = thing({}, { spec: { size: 1 }, status: { ready: true } });
  const object = thing({ a: 'b' }, { spec: { size: 2 } });
  hooks.keepStatus(object, old);
  expect(object).toEqual(thing({ a: 'b' }, { spec: { size: 2 }, status: { ready: true } }));
  hooks.keepStatus(object, thing({}, {}));
  expect(object).toEqual(thing({ a: 'b' }, { spec: { size: 2 } }));
});

it('an update of the status keeps all but the status and the managers of the fields', () => {
  const managedFields = [{ manager: 'm' }];
  const object = thing({ a: 'b' }, { data: 'new', spec: { size: 2 }, status: { ready: true } });
  object.metadata.managedFields = managedFields;
  hooks.keepAllButStatus(object, thing({}, { spec: { size: 1 } }));
  const wanted = thing({}, { spec: { size: 1 }, status: { ready: true } });
  expect(object).toEqual({ ...wanted, metadata: { ...wanted.metadata, managedFields } });
});
