import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { Target } from '../contract/registry.ts';
import { definitionOf } from '../testing.ts';
import { carryMetadata, checkName, checkNamespace, fillNew, isUnchanged, raiseGeneration } from './metadata.ts';

const object = (metadata: object, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'a', ...metadata },
  ...rest,
});
const target = (resource: string, namespace = ''): Target => ({
  ...{ definition: definitionOf(resource), namespace, name: 'a', subresource: '' },
});

describe('the namespace of a body', () => {
  const checked = (resource: string, namespace: string | undefined) => {
    const { metadata } = object({ namespace });
    checkNamespace(target(resource, 'n'), metadata);
    return metadata.namespace;
  };

  it.each([undefined, '', 'n'])('may be %j where the path says n', (namespace) => {
    expect(checked('configmaps', namespace)).toBe('n');
  });

  it('must be that of the path, and is removed where there is none', () => {
    expect(() => checked('configmaps', 'other')).toThrow(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    expect(checked('nodes', 'other')).toBeUndefined();
  });
});

it.each([
  [undefined, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
  ['', 'the name of the object (a based on URL) was undeterminable: name must be provided'],
  ['b', 'the name of the object (b) does not match the name on the URL (a)'],
])('the name %j in a body is refused', (name, message) => {
  expect(() => checkName(target('configmaps'), { name })).toThrow(message);
});

it('a new object has only metadata that clients may set, and a generation if its kind has one', () => {
  const filled = (resource: string) => {
    const one = object({ selfLink: '/x', deletionTimestamp: 'x', deletionGracePeriodSeconds: 5, uid: 'x', labels: {} });
    fillNew(one, definitionOf(resource), 0, 'new');
    return one.metadata;
  };
  const metadata = { name: 'a', uid: 'new', creationTimestamp: '1970-01-01T00:00:00Z', labels: {} };
  expect(filled('configmaps')).toEqual(metadata);
  expect(filled('deployments')).toEqual({ ...metadata, generation: 1 });
});

describe('an update', () => {
  const stored = { uid: 'u', creationTimestamp: 'c', resourceVersion: '1', generation: 3 };
  const deleting = { ...stored, deletionTimestamp: 'd', deletionGracePeriodSeconds: 30 };
  const carried = (sent: object, old: object) => {
    const one = object(sent);
    carryMetadata(one, object(old));
    return one.metadata;
  };

  it('keeps what the server sets, whatever the client sends', () => {
    const sent = { selfLink: '/x', creationTimestamp: 'x', resourceVersion: '9', generation: 9 };
    expect(carried(sent, stored)).toEqual({ name: 'a', ...stored });
    expect(carried({ generation: 9 }, { uid: 'u' })).toEqual({ name: 'a', uid: 'u' });
  });

  it.each([{}, { uid: '' }])('takes the uid of the stored object for %j', (sent) => {
    expect(carried(sent, stored).uid).toBe('u');
  });

  it('leaves another uid to its precondition, and a time of deletion to validation', () => {
    expect(carried({ uid: 'other' }, stored).uid).toBe('other');
    expect(carried({ deletionTimestamp: 'x' }, stored).deletionTimestamp).toBe('x');
    expect(carried({ deletionGracePeriodSeconds: 5 }, deleting).deletionGracePeriodSeconds).toBe(5);
  });

  it.each([{}, { deletionTimestamp: 'other' }])('cannot end or move a deletion with %j', (sent) => {
    expect(carried(sent, deleting)).toEqual({ name: 'a', ...deleting });
  });
});

describe('the generation', () => {
  const old = object({ generation: 3 }, { spec: { n: 1 }, status: { n: 1 } });
  const after = (changed: KubeObject, definition: ResourceDefinition, part: 'main' | 'subresource' = 'main') => {
    const one = structuredClone(changed);
    raiseGeneration(one, old, definition, part);
    return one.metadata.generation;
  };
  const changes = {
    spec: { ...old, spec: { n: 2 } },
    status: { ...old, status: { n: 2 } },
    annotations: { ...old, metadata: { ...old.metadata, annotations: { a: 'b' } } },
    labels: { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } },
  };
  const jobs = definitionOf('jobs');
  const noStatus = { ...jobs, strategy: { ...jobs.strategy, generationWith: 'status' as const } };

  it.each<[keyof typeof changes, string, ResourceDefinition, number]>([
    ['spec', 'jobs', jobs, 4],
    ['status', 'jobs', jobs, 3],
    ['annotations', 'jobs', jobs, 3],
    ['labels', 'deployments', definitionOf('deployments'), 3],
    ['annotations', 'deployments', definitionOf('deployments'), 4],
    ['status', 'deployments', definitionOf('deployments'), 3],
    ['status', 'custom resources without a status subresource', noStatus, 4],
    ['annotations', 'custom resources without a status subresource', noStatus, 3],
    ['spec', 'configmaps, which have none', definitionOf('configmaps'), 3],
  ])('with another %s of %s', (change, _kind, definition, generation) => {
    expect(after(changes[change], definition)).toBe(generation);
  });

  it('of an object without one begins at 1', () => {
    const one = { ...object({}), spec: { n: 2 } };
    raiseGeneration(one, object({}), jobs, 'main');
    expect(one.metadata.generation).toBe(1);
  });

  it('is not raised by annotations or a status through a subresource', () => {
    expect(after(changes.annotations, definitionOf('deployments'), 'subresource')).toBe(3);
    expect(after(changes.status, noStatus, 'subresource')).toBe(3);
    expect(after(old, definitionOf('deployments'))).toBe(3);
  });
});

it('an object is unchanged if only its version or times of managers differ', () => {
  const managed = (manager: string, time: string) =>
    object({ managedFields: [{ manager, time }], resourceVersion: time });
  expect(isUnchanged(managed('m', '1'), managed('m', '2'))).toBe(true);
  expect(isUnchanged(managed('m', '1'), managed('other', '1'))).toBe(false);
  expect(isUnchanged(object({ resourceVersion: '1' }), object({ resourceVersion: '2' }))).toBe(true);
  expect(isUnchanged(object({}), object({ labels: { a: 'b' } }))).toBe(false);
});
