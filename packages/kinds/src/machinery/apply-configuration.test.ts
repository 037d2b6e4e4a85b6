import { must } from '@gantry/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FieldSet,
  type FieldsV1,
  applyConfiguration,
  managedKindOf,
  ownersFromScale,
  ownersInScale,
  schemaOf,
  normaliseShape,
  updateManagedFields,
} from '@gantry/apimachinery';
import { toFieldSet } from '@gantry/apimachinery/testing';
import { type JsonObject, type KubeObject, StatusError, cloneJson } from '@gantry/objects';
import { findResource } from '../registry.ts';

const services = must(findResource({ group: '', version: 'v1', resource: 'services' }), 'services');
const OF = managedKindOf(services, '');
const TYPE = schemaOf('core.v1.Service');
const NOW = Date.parse('2026-01-01T00:00:00Z');
let tick = 0;

function service(parts: { spec?: object; labels?: object; metadata?: object }): JsonObject {
  const { spec, labels, metadata } = parts;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's', ...(labels === undefined ? {} : { labels }), ...metadata },
    ...(spec === undefined ? {} : { spec }),
  } as JsonObject;
}

function apply(live: KubeObject | undefined, config: JsonObject, manager = 'a', force = false): KubeObject {
  const applied = applyConfiguration({ of: OF, live, config, manager, force, now: NOW + ++tick * 1000 });
  applied.metadata.uid = 'u';
  return applied;
}

function update(live: KubeObject | undefined, config: JsonObject, manager: string): KubeObject {
  const object = normaliseShape(cloneJson(config), 'core.v1.Service') as KubeObject;
  object.metadata.uid = 'u';
  const managedFields = updateManagedFields({
    of: OF,
    oldObject: live,
    newObject: object,
    manager,
    now: NOW + ++tick * 1000,
  });
  if (managedFields.length > 0) object.metadata.managedFields = managedFields;
  return object;
}

function owned(object: KubeObject, manager: string): FieldSet {
  const entries = (object.metadata.managedFields ?? []).filter((entry) => entry.manager === manager);
  return entries.reduce((set, { fieldsV1 }) => set.union(FieldSet.fromJson(fieldsV1 as FieldsV1)), new FieldSet());
}

function failure(work: () => unknown): StatusError {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

const specOf = (object: KubeObject) =>
  (object as KubeObject & { spec: { ports?: { port: number; name?: string }[] } }).spec;

describe('applyConfiguration', () => {
  const http = { name: 'http', port: 80, protocol: 'TCP' };
  const dns = { name: 'dns', port: 53, protocol: 'UDP' };

  it('tells every conflict, manager by manager, and takes the fields when forced', () => {
    const made = apply(undefined, service({ labels: { x: '1', y: '1' }, spec: { ports: [http] } }), 'one');
    const status = update(made, { ...(cloneJson(made) as JsonObject) }, 'two');
    const config = service({ labels: { x: '2' }, spec: { ports: [{ ...http, name: 'web' }] } });
    const error = failure(() => apply(status, config, 'three'));
    expect(error.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .metadata.labels.x\n- .spec.ports[port=80,protocol="TCP"].name',
    );
    expect(error.details?.causes?.[0]).toEqual({
      reason: 'FieldManagerConflict',
      message: 'conflict with "one"',
      field: '.metadata.labels.x',
    });
    const forced = apply(status, config, 'three', true);
    expect(forced.metadata.labels).toEqual({ x: '2', y: '1' });
    expect(owned(forced, 'one').has(['f:metadata', 'f:labels', 'f:x'])).toBe(false);
  });

  it('names who updated with the version, and through which subresource', () => {
    const made = update(undefined, service({ labels: { x: '1' } }), 'ctl');
    expect(failure(() => apply(made, service({ labels: { x: '2' } }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "ctl" using v1: .metadata.labels.x',
    );
  });

  it('shares what two apply alike, and keeps it until both have let go', () => {
    let object = apply(undefined, service({ labels: { x: '1' } }), 'one');
    object = apply(object, service({ labels: { x: '1' } }), 'two');
    expect(object.metadata.managedFields?.find(({ manager }) => manager === 'two')?.time).toBeUndefined();
    object = apply(object, service({}), 'one');
    expect(object.metadata.labels).toEqual({ x: '1' });
    expect(apply(object, service({}), 'two').metadata.labels).toBeUndefined();
  });

  it('gives what was there before anything was recorded to before-first-apply', () => {
    const live = normaliseShape(service({ labels: { x: '1' }, metadata: { uid: 'u' } }), 'core.v1.Service');
    const applied = apply(live as KubeObject, service({ labels: { z: '1' } }));
    expect(owned(applied, 'before-first-apply').has(['f:metadata', 'f:labels', 'f:x'])).toBe(true);
    expect(applied.metadata.labels).toEqual({ x: '1', z: '1' });
  });

  it('lets kubectl take over what it has applied from the client side, and keeps its annotation fresh', () => {
    const config = service({ labels: { x: '1' } });
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const annotated = service({
      labels: { x: '1' },
      metadata: { annotations: { [annotation]: JSON.stringify(config) } },
    });
    const made = update(undefined, annotated, 'kubectl-client-side-apply');
    const next = service({ labels: { x: '2' } });
    expect(apply(made, next, 'kubectl').metadata.annotations?.[annotation]).toBe(
      '{"apiVersion":"v1","kind":"Service","metadata":{"labels":{"x":"2"},"name":"s"}}\n',
    );
    expect(() => apply(made, next, 'other')).toThrow('Apply failed with 1 conflict');
  });

  it.each([
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 's' } }, 'invalid object type: /v1, Kind=Pod'],
    [{}, 'invalid object type: /, Kind='],
    [service({ metadata: { managedFields: [] } }), 'metadata.managedFields must be nil'],
    [
      service({ spec: { bogus: 1 } }),
      'failed to create typed patch object (/s; /v1, Kind=Service): .spec.bogus: field not declared in schema',
    ],
    [
      service({ spec: { ports: [http, http] } }),
      'failed to create typed patch object (/s; /v1, Kind=Service): .spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ],
    [
      service({ spec: { type: 7, ports: 'x' } }),
      'failed to create typed patch object (/s; /v1, Kind=Service): errors:\n  .spec.type: expected string, got &value.valueUnstructured{Value:7}\n  .spec.ports: expected list, got &{x}',
    ],
  ])('refuses %j', (config, message) => {
    const error = failure(() => apply(undefined, config));
    expect([error.code, error.message]).toEqual([400, message]);
  });

  it('orders items as they are applied, and leaves the others where they stood', () => {
    const [a, b, c, d] = [1, 2, 3, 4].map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }));
    let object = apply(undefined, service({ spec: { ports: [a, b, c] } }), 'one');
    object = apply(object, service({ spec: { ports: [d, c, a] } }), 'two');
    expect(specOf(object).ports?.map(({ port }) => port)).toEqual([2, 4, 3, 1]);
    object = apply(object, service({ spec: { ports: [b, dns] } }), 'one');
    expect(specOf(object).ports?.map(({ port }) => port)).toEqual([2, 4, 3, 1, 53]);
  });

  it('leaves maps that are applied as null, and clears leaves', () => {
    const made = apply(undefined, service({ labels: { x: '1' }, spec: { ports: [http], type: 'NodePort' } }), 'one');
    const applied = apply(made, service({ metadata: { labels: null }, spec: { type: null } }), 'two', true);
    expect(applied.metadata.labels).toEqual({ x: '1' });
    expect(specOf(applied)).not.toHaveProperty('type');
  });
});

describe('the scale of an object', () => {
  it('passes the replicas from owner to owner', () => {
    const path = ['f:spec', 'f:replicas'];
    const pathIn = (apiVersion: string) => (apiVersion === 'apps/v1' ? path : undefined);
    const entry = (manager: string, fieldsV1: JsonObject) =>
      ({ manager, operation: 'Apply', apiVersion: 'apps/v1', fieldsType: 'FieldsV1', fieldsV1 }) as const;
    const stored = [entry('a', { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } })];
    expect(ownersInScale(stored, pathIn)).toEqual([
      { ...entry('a', { 'f:spec': { 'f:replicas': {} } }), apiVersion: 'autoscaling/v1' },
    ]);
    const scaled = {
      ...entry('b', { 'f:spec': { 'f:replicas': {} } }),
      apiVersion: 'autoscaling/v1',
      subresource: 'scale',
    };
    expect(ownersFromScale(stored, [scaled], pathIn, 'apps/v1')).toEqual([
      entry('a', { 'f:spec': { 'f:paused': {} } }),
      { ...entry('b', { 'f:spec': { 'f:replicas': {} } }), subresource: 'scale' },
    ]);
  });
});

const labels = fc.dictionary(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('1', '2'), { maxKeys: 3 });
const port = fc.record(
  {
    port: fc.constantFrom(80, 81, 82),
    protocol: fc.constantFrom('TCP', 'UDP'),
    name: fc.constantFrom('a', 'b'),
    nodePort: fc.constantFrom(1, 2),
  },
  { requiredKeys: ['port', 'protocol'] },
);
const ports = fc.uniqueArray(port, { maxLength: 4, selector: (one) => `${one.port}/${one.protocol}` });
const configs = fc
  .record(
    {
      labels,
      spec: fc.record(
        { ports, selector: labels, externalIPs: fc.array(fc.constantFrom('10.0.0.1', '10.0.0.2')) },
        { requiredKeys: [] },
      ),
      finalizers: fc.uniqueArray(fc.constantFrom('a/b', 'c/d')),
    },
    { requiredKeys: [] },
  )
  .map(({ finalizers, ...rest }) =>
    service({ ...rest, ...(finalizers === undefined ? {} : { metadata: { finalizers } }) }),
  );
const writes = fc.array(
  fc.record({ config: configs, manager: fc.constantFrom('a', 'b', 'c'), verb: fc.constantFrom('apply', 'update') }),
  { minLength: 1, maxLength: 6 },
);
/** The stored object without times: a write that only changes times changes nothing. */
function timeless(object: KubeObject): KubeObject {
  const managedFields = (object.metadata.managedFields ?? []).map(({ time: _time, ...entry }) => entry);
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

const NAMES = FieldSet.of(['f:apiVersion'], ['f:kind'], ['f:metadata', 'f:name']);

function play(list: readonly { config: JsonObject; manager: string; verb: string }[]): KubeObject | undefined {
  let live: KubeObject | undefined;
  for (const { config, manager, verb } of list)
    live = verb === 'apply' ? apply(live, config, manager, true) : update(live, config, manager);
  return live;
}

describe('any sequence of applies and updates', () => {
  it('leaves each leaf of an applied configuration with its applier, and applying it again changes nothing', () => {
    fc.assert(
      fc.property(writes, configs, (list, config) => {
        const object = apply(play(list), config, 'z', true);
        expect(toFieldSet(TYPE, config).difference(NAMES).difference(owned(object, 'z')).empty).toBe(true);
        expect(timeless(apply(object, config, 'z'))).toEqual(timeless(object));
      }),
      { numRuns: 200 },
    );
  });

  it('takes away what only its applier owned, and nothing of others', () => {
    fc.assert(
      fc.property(writes, configs, (list, config) => {
        const before = play(list) ?? apply(undefined, service({}), 'none');
        const gone = apply(apply(before, config, 'z', true), service({}), 'z');
        expect(owned(gone, 'z').empty).toBe(true);
        const leaves = toFieldSet(TYPE, gone);
        // A spec always exists, even if empty.
        for (const path of toFieldSet(TYPE, config)
          .difference(NAMES)
          .difference(FieldSet.of(['f:spec']))
          .paths())
          if (!path.some((element) => element.startsWith('k:'))) {
            const others = (gone.metadata.managedFields ?? []).some(({ fieldsV1 }) =>
              FieldSet.fromJson(fieldsV1 as FieldsV1).has(path),
            );
            expect(leaves.has(path) && !others).toBe(false);
          }
      }),
      { numRuns: 200 },
    );
  });

  it('keeps the keys of items apart and gives every manager at most one entry of a kind', () => {
    fc.assert(
      fc.property(writes, (list) => {
        const object = must(play(list), 'object');
        const keys = (specOf(object)?.ports ?? []).map((one) =>
          JSON.stringify([one.port, (one as { protocol?: string }).protocol]),
        );
        expect(new Set(keys).size).toBe(keys.length);
        const ids = (object.metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 200 },
    );
  });
});
