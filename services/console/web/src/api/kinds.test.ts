import { describe, expect, it } from 'vitest';
import { areaOf, collectionPath, findKind, kindsFrom, objectPath, staleVersions } from './kinds.ts';

const RESOURCE = { verbs: ['list', 'get'], scope: 'Namespaced' };
const KINDS = kindsFrom([
  {
    metadata: {},
    versions: [
      {
        version: 'v1',
        resources: [
          { ...RESOURCE, resource: 'pods', responseKind: { kind: 'Pod' }, subresources: [{ subresource: 'log' }] },
          { resource: 'nodes', responseKind: { kind: 'Node' }, scope: 'Cluster', verbs: ['list'] },
          { resource: 'bindings', responseKind: { kind: 'Binding' }, scope: 'Namespaced', verbs: ['create'] },
        ],
      },
    ],
  },
  {
    metadata: { name: 'example.com' },
    versions: [
      { version: 'v2', resources: [{ ...RESOURCE, resource: 'pods', responseKind: { kind: 'Pod' } }] },
      { version: 'v1', resources: [{ ...RESOURCE, resource: 'pods', responseKind: { kind: 'OldPod' } }] },
    ],
  },
]);
const find = (id: string) => {
  const kind = KINDS.find((known) => known.id === id);
  if (kind === undefined) expect.fail(`no ${id}`);
  return kind;
};

describe('kinds', () => {
  it('lists what can be listed, each resource once, in its most preferred version', () => {
    expect(KINDS.map(({ id, version }) => `${id} ${version}`)).toEqual(['nodes v1', 'pods v1', 'pods.example.com v2']);
    expect(find('pods').subresources).toEqual(['log']);
  });

  it('names the versions whose server does not respond, and reads a kind in one whose server does', () => {
    const groups = [
      {
        metadata: { name: 'example.com' },
        versions: [
          { version: 'v2', freshness: 'Stale', resources: [{ ...RESOURCE, resource: 'pods' }] },
          { version: 'v1', freshness: 'Current', resources: [{ ...RESOURCE, resource: 'pods' }] },
        ],
      },
      { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] },
    ];
    expect(staleVersions(groups)).toEqual(['example.com/v2', 'metrics.k8s.io/v1beta1']);
    expect(kindsFrom(groups).map(({ id, version }) => `${id} ${version}`)).toEqual(['pods.example.com v1']);
  });

  it('knows the paths of collections and objects, with names escaped', () => {
    expect(collectionPath(find('pods'), '')).toBe('/api/v1/pods');
    expect(objectPath(find('pods.example.com'), 'a', 'b/c')).toBe('/apis/example.com/v2/namespaces/a/pods/b%2Fc');
    expect(objectPath(find('nodes'), '', 'n')).toBe('/api/v1/nodes/n');
  });

  it('finds the kind of a reference in any version', () => {
    expect(findKind(KINDS, 'example.com/v1', 'Pod')?.id).toBe('pods.example.com');
    expect(findKind(KINDS, 'v1', 'Pod')?.id).toBe('pods');
    expect(findKind(KINDS, 'v1', 'Absent')).toBeUndefined();
  });

  it('lists groups that are not of Kubernetes as custom', () => {
    expect(areaOf(find('pods'))).toBe('Workloads');
    expect(areaOf(find('pods.example.com'))).toBe('Custom');
  });
});
