import type { KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../testing.ts';
import { checkDeletePreconditions, checkUpdatePreconditions, namedVersion } from './preconditions.ts';

const OBJECT: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'n', uid: 'own', resourceVersion: '256' },
};
const remove = (preconditions: { uid?: string; resourceVersion?: string }) => () =>
  checkDeletePreconditions(OBJECT, definitionOf('configmaps'), preconditions);
const update = (sent: { uid?: string; resourceVersion?: string }) => () =>
  checkUpdatePreconditions(OBJECT, definitionOf('configmaps'), sent);

describe('preconditions', () => {
  it('let a deletion remove only the object, and the version, that it names', () => {
    expect(remove({})).not.toThrow();
    expect(remove({ uid: 'own', resourceVersion: '256' })).not.toThrow();
    expect(remove({ uid: 'other' })).toThrow(
      'the UID in the precondition (other) does not match the UID in record (own)',
    );
    expect(remove({ resourceVersion: '255' })).toThrow(
      'the ResourceVersion in the precondition (255) does not match the ResourceVersion in record (256). The object might have been modified',
    );
  });

  it('let an update change only the object, and the version, that it names', () => {
    expect(update({ uid: '', resourceVersion: '' })).not.toThrow();
    expect(update({ uid: 'own', resourceVersion: '256' })).not.toThrow();
    expect(update({ uid: 'other' })).toThrow('UID in precondition: other, UID in object meta: own');
    expect(update({ resourceVersion: '255' })).toThrow('the object has been modified');
  });

  it.each(['namespaces', 'customresourcedefinitions'])('name what was found in their own words for %s', (resource) => {
    expect(() => checkDeletePreconditions(OBJECT, definitionOf(resource), { uid: 'other' })).toThrow(
      'Precondition failed: UID in precondition: other, UID in object meta: own',
    );
  });

  it('show the key of a built-in object with its prefix, and that of a custom one without', () => {
    expect(update({ uid: 'other' })).toThrow('Key: /registry/configmaps/n/a,');
    const custom = { ...definitionOf('configmaps'), publishedSchema: {} };
    expect(() => checkUpdatePreconditions(OBJECT, custom, { uid: 'other' })).toThrow('Key: /configmaps/n/a,');
  });

  it.each([
    ['0', ''],
    ['00', ''],
    ['012', '012'],
    ['10', '10'],
    ['', ''],
    [undefined, ''],
  ])('of an update with the version %j name %j', (resourceVersion, named) => {
    expect(namedVersion({ resourceVersion })).toBe(named);
  });
});
