import { describe, expect, it } from 'vitest';
import type { KubeObject } from '@gantry/objects';
import { validateChange } from '@gantry/apimachinery';
import { findKind } from './registry.ts';

const stored = {
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2030-01-01T00:00:00Z',
  name: 'a',
  namespace: 'b',
};

function complaints(group: string, kind: string, metadata: object): readonly string[] {
  const definition = findKind(group, 'v1', kind);
  if (definition === undefined) throw new Error(`no kind ${kind}`);
  const { strategy, ...rest } = definition;
  const { validate: _, validateUpdate: __, ...kept } = strategy;
  const { namespace: _namespace, ...unplaced } = stored;
  const known = definition.namespaced ? stored : unplaced;
  const object = (more: object) => ({ apiVersion: 'v1', kind, metadata: { ...known, ...more } }) as KubeObject;
  const onlyMetadata = { ...rest, strategy: kept };
  return validateChange(onlyMetadata, object(metadata), object({})).map(({ field }) => field);
}

describe('wrong metadata of an update', () => {
  // The number of errors of kube-apiserver 1.36: twice for every kind, plus the kind's own rules.
  it.each([
    ['', 'ConfigMap', 4],
    ['apps', 'Deployment', 3],
    ['policy', 'PodDisruptionBudget', 2],
    ['', 'LimitRange', 3],
    ['', 'Service', 3],
    ['', 'PersistentVolume', 4],
    ['', 'Node', 4],
  ])('is reported as often as Kubernetes looks at it (%s %s)', (group, kind, times) => {
    expect(complaints(group, kind, { labels: { a: 'not valid!' } })).toEqual(
      Array.from({ length: times }, () => 'metadata.labels'),
    );
  });

  it.each([
    ['', 'ConfigMap', 2],
    ['apps', 'Deployment', 1],
    ['events.k8s.io', 'Event', 1],
    ['coordination.k8s.io', 'Lease', 0],
  ])('has finalizers that are not Kubernetes own (%s %s)', (group, kind, times) => {
    expect(complaints(group, kind, { finalizers: ['nope'] })).toEqual(
      Array.from({ length: times }, () => 'metadata.finalizers[0]'),
    );
  });

  it.each([
    ['', 'ConfigMap', ['metadata.finalizers', 'metadata.finalizers[0]', 'metadata.finalizers']],
    ['', 'Node', ['metadata.finalizers', 'metadata.finalizers', 'metadata.finalizers[0]']],
    ['rbac.authorization.k8s.io', 'Role', ['metadata.finalizers', 'metadata.finalizers', 'metadata.finalizers[0]']],
  ])('comes in the order in which Kubernetes looks at it (%s %s)', (group, kind, order) => {
    expect(complaints(group, kind, { finalizers: ['Not Valid!'] }).slice(0, 3)).toEqual(order);
  });
});
