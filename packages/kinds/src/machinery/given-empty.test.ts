import { describe, expect, it } from 'vitest';
import { must } from '@gantry/base';
import {
  cloneWithEmpty,
  decodeObject,
  givenEmpty,
  managedKindOf,
  updateManagedFields,
  validateNew,
} from '@gantry/apimachinery';
import { findResource } from '../registry.ts';

const roles = must(findResource({ group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' }), 'roles');
const sets = must(findResource({ group: 'apps', version: 'v1', resource: 'replicasets' }), 'replicasets');

function decode(definition: typeof roles, body: object) {
  const bytes = Buffer.from(JSON.stringify(body));
  return decodeObject({ bytes, mediaType: 'application/json', definition, mode: 'Strict' }).object;
}

describe('lists and maps that were written empty', () => {
  it('are not there, and remembered by copies until something is put there', () => {
    const object = cloneWithEmpty(decode(roles, { metadata: { name: 'r', labels: {} }, rules: [] }));
    expect(object.metadata).not.toHaveProperty('labels');
    expect(givenEmpty(object.metadata, 'labels')).toEqual({});
    expect(givenEmpty(object.metadata, 'annotations')).toBeUndefined();
    expect(givenEmpty(object, 'rules')).toEqual([]);
    object.metadata.labels = { a: 'b' };
    expect(givenEmpty(object.metadata, 'labels')).toBeUndefined();
  });

  it.each([
    [{ rules: [] }, 1],
    [{ rules: null }, 0],
    [{}, 0],
  ])('are a manager’s where the field is always written: %j', (body, managers) => {
    const newObject = decode(roles, { metadata: { name: 'r' }, ...body });
    const of = managedKindOf(roles, '');
    expect(updateManagedFields({ of, oldObject: undefined, newObject, manager: 'm', now: 0 })).toHaveLength(managers);
  });

  it.each([
    [{ labels: {} }, {}],
    [{}, null],
  ])('are shown by messages: %j', (metadata, value) => {
    const template = { metadata, spec: { containers: [{ name: 'a', image: 'a' }] } };
    const spec = { selector: { matchLabels: { a: 'b' } }, template };
    const object = decode(sets, { metadata: { name: 'r', namespace: 'n' }, spec });
    sets.strategy.applyDefaults?.(object);
    const field = 'spec.template.metadata.labels';
    expect(validateNew(sets, object).find((error) => error.field === field)).toMatchObject({ value });
  });
});
