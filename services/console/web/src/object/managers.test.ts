import { describe, expect, it } from 'vitest';
import { managedFieldsOf } from './managers.ts';

describe('managedFieldsOf', () => {
  it('lists the leaves of each manager with readable paths', () => {
    const fields = managedFieldsOf([
      {
        manager: 'kubectl',
        operation: 'Apply',
        time: '2026-01-01T00:00:00Z',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app.kubernetes.io/name': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:containers': {
              'k:{"name":"web"}': {
                '.': {},
                'f:image': {},
                'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {} } },
              },
            },
          },
        },
      },
      {
        manager: 'autoscaler',
        operation: 'Update',
        subresource: 'scale',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      },
    ]);
    expect(fields.map(({ path, manager }) => `${manager} ${path}`)).toEqual([
      'kubectl .metadata.labels["app.kubernetes.io/name"]',
      'kubectl .spec.containers[name="web"].image',
      'kubectl .spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]',
      'kubectl .spec.replicas',
      'autoscaler .spec.replicas',
    ]);
    expect(fields.at(-1)).toMatchObject({ operation: 'Update', subresource: 'scale', time: '' });
  });

  it('shows values of sets, and keys that are not JSON as they are', () => {
    const fieldsV1 = { 'f:finalizers': { 'v:"a/b"': {}, 'k:{broken': {} } };
    const paths = managedFieldsOf([{ manager: 'x', fieldsV1 }]).map(({ path }) => path);
    expect(paths).toEqual(['.finalizers[=\"a/b\"]', '.finalizers[{broken]']);
  });

  it('has nothing of an object without managers', () => {
    expect(managedFieldsOf(undefined)).toEqual([]);
    expect(managedFieldsOf([{ manager: 'x' }])).toEqual([]);
  });
});
