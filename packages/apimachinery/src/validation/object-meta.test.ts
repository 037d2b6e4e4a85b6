import { describe, expect, it } from 'vitest';
import { type ObjectMeta, subdomainName } from '@gantry/objects';
import { validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts';

const NAMESPACED = { namespaced: true, validateName: subdomainName } as const;
const fields = (errors: readonly { field: string; type: string }[]) =>
  errors.map(({ field, type }) => `${field} ${type}`);
const check = (meta: ObjectMeta, rules: Parameters<typeof validateObjectMeta>[1] = NAMESPACED) =>
  fields(validateObjectMeta(meta, rules));

describe('metadata of a new object', () => {
  it('needs a name, and a namespace where the kind has one', () => {
    expect(check({})).toEqual(['metadata.name FieldValueRequired', 'metadata.namespace FieldValueRequired']);
    expect(check({ name: 'a', namespace: 'b' }, { ...NAMESPACED, namespaced: false })).toEqual([
      'metadata.namespace FieldValueForbidden',
    ]);
  });

  it('takes finalizers without a slash from Kubernetes alone, where the group says so', () => {
    const meta = { name: 'a', namespace: 'b', finalizers: ['foregroundDeletion', 'mine'] };
    expect(check(meta)).toEqual(['metadata.finalizers[1] FieldValueInvalid']);
    expect(check(meta, { ...NAMESPACED, finalizers: 'qualified' })).toEqual([]);
  });

  it('does not take finalizers that contradict each other', () => {
    expect(check({ name: 'a', namespace: 'b', finalizers: ['orphan', 'foregroundDeletion'] })).toEqual([
      'metadata.finalizers FieldValueInvalid',
    ]);
  });

  it('has one controller at most', () => {
    const owner = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: name, controller: true });
    const meta = { name: 'a', namespace: 'b', ownerReferences: [owner('x'), owner('y')] };
    expect(validateObjectMeta(meta, NAMESPACED)[0]?.detail).toContain('references for Pod/x and Pod/y');
  });

  it('is not owned by Events', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'e' }];
    expect(check({ name: 'a', namespace: 'b', ownerReferences })).toEqual([
      'metadata.ownerReferences FieldValueInvalid',
    ]);
  });

  it('holds 256 KiB of annotations', () => {
    const annotations = { a: 'x'.repeat(262_143) };
    expect(check({ name: 'a', namespace: 'b', annotations })).toEqual([]);
    expect(check({ name: 'a', namespace: 'b', annotations: { ...annotations, b: '' } })).toEqual([
      'metadata.annotations FieldValueTooLong',
    ]);
  });
});

describe('metadata of an update', () => {
  const old: ObjectMeta = {
    name: 'a',
    namespace: 'b',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2030-01-01T00:00:00Z',
    generation: 2,
  };

  it('may stay as it is', () => {
    expect(validateObjectMetaUpdate({ ...old }, old)).toEqual([]);
  });

  it('keeps its identity', () => {
    const changed = { ...old, name: 'c', namespace: 'd', uid: 'v', generation: 1 };
    expect(fields(validateObjectMetaUpdate(changed, old))).toEqual([
      'metadata.generation FieldValueInvalid',
      'metadata.name FieldValueInvalid',
      'metadata.namespace FieldValueInvalid',
      'metadata.uid FieldValueInvalid',
    ]);
  });

  it('gets no new finalizers while it is being deleted', () => {
    const dying = { ...old, deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.org/a'] };
    const changed = { ...dying, finalizers: ['example.org/a', 'example.org/b'] };
    expect(validateObjectMetaUpdate(changed, dying)[0]?.detail).toContain('[]string{"example.org/b"}');
    expect(validateObjectMetaUpdate({ ...dying, finalizers: [] }, dying)).toEqual([]);
  });
});
