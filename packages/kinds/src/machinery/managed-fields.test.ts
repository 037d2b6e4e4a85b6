import { must } from '@gantry/base';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { FieldSet, type FieldsV1, managedKindOf, normaliseShape, updateManagedFields } from '@gantry/apimachinery';
import { type KubeObject, type ManagedFieldsEntry, cloneJson } from '@gantry/objects';
import { findResource } from '../registry.ts';

const element = fc.constantFrom('f:a', 'f:b', 'k:{"name":"c"}', 'v:"x"');
const paths = fc.array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 6 });
function setOf(list: readonly string[][]): FieldSet {
  const set = new FieldSet();
  for (const path of list) set.insert(path);
  return set;
}

describe('FieldSet', () => {
  it('obeys the laws of sets', () => {
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [setOf(left), setOf(right)];
        expect(a.union(b).equals(b.union(a))).toBe(true);
        expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
        expect(a.difference(b).intersection(b).empty).toBe(true);
        for (const path of left) expect(a.union(b).has(path)).toBe(true);
      }),
    );
  });

  it('tells integers apart that a double cannot hold', () => {
    const json = { 'k:{"id":9007199254740993}': {}, 'k:{"id":9007199254740992}': {}, 'v:9007199254740993': {} };
    const order = ['k:{"id":9007199254740992}', 'k:{"id":9007199254740993}', 'v:9007199254740993'];
    expect(Object.keys(FieldSet.parse(json).toJson())).toEqual(order);
  });

  it('orders fields, keys, values and indexes, each by content', () => {
    const order = [
      'f:a',
      'f:b',
      'k:{"a":1,"b":"x"}',
      'k:{"a":2}',
      'k:{"b":"a"}',
      'v:2',
      'v:10',
      'v:"1"',
      'v:true',
      'i:2',
      'i:10',
    ];
    const json = Object.fromEntries(order.toReversed().map((one) => [one, {}]));
    expect(Object.keys(FieldSet.parse(json).toJson())).toEqual(order);
  });

  it('parses each key once when it orders them, however many there are', () => {
    const count = 500;
    const set = new FieldSet();
    for (let i = 0; i < count; i++) set.insert([`k:{"uid":"u${(i * 7919) % count}"}`]);
    const parse = vi.spyOn(JSON, 'parse');
    try {
      expect(Object.keys(set.toJson())).toHaveLength(count);
      expect(parse.mock.calls.length).toBeLessThanOrEqual(count);
    } finally {
      parse.mockRestore();
    }
  });

  it('is the same after it was written and read', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const set = setOf(list);
        expect(FieldSet.fromJson(set.toJson()).equals(set)).toBe(true);
      }),
    );
  });
});

interface Workload extends KubeObject {
  spec?: object;
  status?: object;
}

const DEPLOYMENTS = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');
const SERVICE_ACCOUNTS = must(findResource({ group: '', version: 'v1', resource: 'serviceaccounts' }), 'accounts');
const NOW = Date.parse('2026-01-01T00:00:00Z');

function write(
  old: Workload | undefined,
  object: Workload,
  options: { manager?: string; at?: number; subresource?: string } = {},
): Workload {
  const { manager = 'a', at = 0, subresource = '' } = options;
  const newObject = normaliseShape(cloneJson(object), 'apps.v1.Deployment');
  const managedFields = updateManagedFields({
    of: managedKindOf(DEPLOYMENTS, subresource),
    oldObject: old,
    newObject,
    manager,
    now: NOW + at * 1000,
  });
  return { ...newObject, metadata: { ...newObject.metadata, managedFields } };
}

function deployment(spec: object, metadata: object = {}): Workload {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x', ...metadata }, spec };
}

function entries(object: Workload): readonly ManagedFieldsEntry[] {
  return object.metadata.managedFields ?? [];
}

function fieldsOf(object: Workload, manager: string): FieldsV1 | undefined {
  return entries(object).find((entry) => entry.manager === manager)?.fieldsV1 as FieldsV1 | undefined;
}

describe('updateManagedFields', () => {
  const spec = {
    replicas: 2,
    selector: { matchLabels: { app: 'a' } },
    template: {
      metadata: { labels: { app: 'a' } },
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, protocol: 'TCP' }] }] },
    },
  };

  it('gives a new object to its creator, without what every object has', () => {
    const created = write(undefined, { ...deployment(spec, { labels: { l: '1' } }), status: { replicas: 7 } });
    expect(entries(created)).toEqual([
      {
        manager: 'a',
        operation: 'Update',
        apiVersion: 'apps/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:selector': {},
            'f:template': {
              'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
              'f:spec': {
                'f:containers': {
                  'k:{"name":"c"}': {
                    '.': {},
                    'f:image': {},
                    'f:name': {},
                    'f:ports': {
                      '.': {},
                      'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                    },
                    'f:resources': {},
                  },
                },
              },
            },
          },
        },
      },
    ]);
  });

  it('moves what another manager changes, and only that', () => {
    const created = write(undefined, deployment(spec));
    const scaled = write(created, deployment({ ...spec, replicas: 5 }), { manager: 'b', at: 9 });
    expect(fieldsOf(scaled, 'b')).toEqual({ 'f:spec': { 'f:replicas': {} } });
    expect(fieldsOf(scaled, 'a')?.['f:spec']).not.toHaveProperty('f:replicas');
    expect(entries(scaled).map((entry) => entry.time)).toEqual(['2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z']);
  });

  it('changes nothing, not even a time, when nothing changes', () => {
    const created = write(undefined, deployment(spec));
    expect(entries(write(created, deployment(spec), { manager: 'b', at: 9 }))).toEqual(entries(created));
  });

  it('takes what is removed from everyone, and drops entries that end up empty', () => {
    const created = write(undefined, deployment(spec));
    const labelled = write(created, deployment(spec, { labels: { l: '1' } }), { manager: 'b', at: 1 });
    const again = write(labelled, deployment(spec), { manager: 'c', at: 2 });
    expect(entries(again).map((entry) => entry.manager)).toEqual(['a']);
  });

  it('keeps writes of the status apart', () => {
    const created = write(undefined, deployment(spec));
    const status = { ...deployment({ ...spec, replicas: 9 }), status: { replicas: 2 } };
    const reported = write(created, status, { manager: 'a', at: 1, subresource: 'status' });
    expect(entries(reported)[1]).toMatchObject({
      subresource: 'status',
      fieldsV1: { 'f:status': { 'f:replicas': {} } },
    });
    expect(must(entries(reported)[1], 'entry').fieldsV1).not.toHaveProperty('f:spec');
  });

  it('starts anew when the request empties managedFields', () => {
    const created = write(undefined, deployment(spec));
    const reset = write(created, deployment(spec, { managedFields: [{}] }));
    expect(entries(reset)).toEqual([]);
  });

  it('gives up on lists whose items lack their key, as Kubernetes does', () => {
    const keyless = { ...spec, template: { spec: { containers: [{ name: 'c', env: [{ value: '1' }] }] } } };
    const created = write(undefined, deployment(keyless));
    expect(entries(created)).not.toEqual([]);
    const accounts = updateManagedFields({
      of: managedKindOf(SERVICE_ACCOUNTS, ''),
      oldObject: undefined,
      newObject: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'x' }, secrets: [{}] } as KubeObject,
      manager: 'a',
      now: NOW,
    });
    expect(accounts).toEqual([]);
  });

  it('tells at most ten managers by update apart', () => {
    let object = write(undefined, deployment(spec));
    for (let index = 0; index < 14; index++) {
      const labels = Object.fromEntries(Array.from({ length: index + 1 }, (_, label) => [`l${label}`, 'x']));
      object = write(object, deployment(spec, { labels }), { manager: `m${index}`, at: index + 1 });
    }
    const managers = entries(object).map((entry) => entry.manager);
    expect(managers).toHaveLength(10);
    expect(managers[0]).toBe('ancient-changes');
    const owned = entries(object).reduce(
      (set, entry) => set.union(FieldSet.fromJson(entry.fieldsV1 as FieldsV1)),
      new FieldSet(),
    );
    expect(owned.has(['f:metadata', 'f:labels', 'f:l0'])).toBe(true);
    expect(owned.has(['f:spec', 'f:replicas'])).toBe(true);
  });
});
