import type { Json, JsonObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { applyConfiguration, removedFields } from './apply-configuration.ts';
import { problemsOf } from './problems.ts';
import { ITEM, SchemaLookup, typeName } from './schema.ts';
import { positionAt } from './yaml-position.ts';

const LOOKUP = new SchemaLookup(
  {
    pod: {
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            labels: { type: 'object', additionalProperties: { type: 'string' } },
          },
        },
        spec: { allOf: [{ $ref: '#/components/schemas/spec' }], description: 'what is wanted' },
      },
      'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
    },
    spec: {
      type: 'object',
      description: 'hidden by the description beside the reference',
      required: ['containers'],
      properties: {
        replicas: { type: 'integer' },
        hostNetwork: { type: 'boolean' },
        containers: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { $ref: '#/components/schemas/container' },
        },
      },
    },
    container: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        image: { type: 'string' },
        command: { type: 'array', items: { type: 'string' } },
        limit: {},
      },
    },
  },
  '',
  'v1',
  'Pod',
);

describe('SchemaLookup', () => {
  it('ends with a list of itself, and with references that lead in a circle', () => {
    const of = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const lookup = new SchemaLookup(
      { list: { type: 'array', items: of('list') }, a: of('b'), b: of('a') },
      '',
      'v1',
      'X',
    );
    expect(typeName(lookup.resolve(of('list')), lookup)).toBe(`${'list of '.repeat(8)}array`);
    expect(lookup.resolve(of('a'))).toEqual(expect.anything());
    expect(typeName(LOOKUP.at(['spec', 'containers', ITEM, 'command']), LOOKUP)).toBe('list of string');
  });

  it('follows references, lists and maps', () => {
    expect(LOOKUP.at(['spec'])?.description).toBe('what is wanted');
    expect(LOOKUP.at(['spec', 'containers', ITEM, 'image'])?.type).toBe('string');
    expect(LOOKUP.at(['metadata', 'labels', 'any'])?.type).toBe('string');
    expect(LOOKUP.at(['spec', 'absent', 'x'])).toBeUndefined();
  });
});

describe('positionAt', () => {
  const at = (marked: string) => positionAt(marked.replace('|', ''), marked.indexOf('|'));

  it.each([
    ['sp|', [], 'sp'],
    ['spec:\n  con|', ['spec'], 'con'],
    ['spec:\n  containers:\n  - name: a\n    im|', ['spec', 'containers', ITEM], 'im'],
    ['spec:\n  containers:\n    - na|', ['spec', 'containers', ITEM], 'na'],
    ['spec:\n  containers:\n  - name: a\n  - na|', ['spec', 'containers', ITEM], 'na'],
    ['spec:\n  containers:\n  - name: a\n  vol|', ['spec'], 'vol'],
    ['metadata:\n  name: a\n\n# spec:\nspec:\n  |', ['spec'], ''],
    ['a:\n  b:\n    c: 1\nd|', [], 'd'],
  ])('finds the map of a key: %j', (text, path, prefix) => {
    expect(at(text)).toEqual({ path, prefix, writes: { kind: 'key' } });
  });

  it('finds the key of a value', () => {
    expect(at('spec:\n  policy: Al|')).toEqual({
      path: ['spec'],
      prefix: 'Al',
      writes: { kind: 'value', key: 'policy' },
    });
  });
});

describe('problemsOf', () => {
  const messages = (text: string) =>
    problemsOf(text, LOOKUP).map(({ from, to, message }) => `${text.slice(from, to).trim()}: ${message}`);

  it('finds nothing wrong with a right document', () => {
    expect(messages('kind: Pod\nmetadata: {labels: {a: b}}\nspec:\n  containers:\n  - name: a\n    limit: 5')).toEqual(
      [],
    );
  });

  it('finds unknown fields, wrong types and missing fields', () => {
    expect(messages('spec: {containers: [], imagee: x}')).toEqual(['imagee: unknown field "imagee"']);
    expect(messages('spec: {containers: [], replicas: three}')).toEqual(['three: must be of type integer']);
    expect(messages('spec: {containers: [], hostNetwork: "true"}')).toEqual(['"true": must be of type boolean']);
    expect(messages('spec: {containers: x}')).toEqual(['x: must be of type array']);
    expect(messages('spec: {replicas: 1}')).toEqual(['{replicas: 1}: missing: containers']);
  });

  it('finds errors of syntax first', () => {
    expect(problemsOf('a: [', LOOKUP).length).toBeGreaterThan(0);
    expect(problemsOf('a: 1\na: 2', undefined)[0]?.message).toMatch(/unique/);
  });

  it('accepts any document without a schema', () => expect(problemsOf('a: 1', undefined)).toEqual([]));
});

describe('applyConfiguration', () => {
  const base: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', labels: { a: '1', b: '2' } },
    spec: {
      replicas: 1,
      containers: [
        { name: 'x', image: 'x:1', command: ['run'] },
        { name: 'y', image: 'y:1' },
      ],
    },
  };
  const identity = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' } };
  const edit = (change: (copy: typeof base) => void) => {
    const copy = structuredClone(base);
    change(copy);
    return copy;
  };

  it('has only what names the object when nothing was changed', () => {
    expect(applyConfiguration(base, base, LOOKUP)).toEqual(identity);
  });

  it('has the changed fields, and of lists with keys the changed items', () => {
    const edited = edit((copy) => {
      (copy['metadata'] as { labels: JsonObject }).labels['b'] = '3';
      (copy['spec'] as { containers: JsonObject[] }).containers = [
        { name: 'y', image: 'y:2' },
        { name: 'x', image: 'x:1', command: ['run'] },
        { name: 'z', image: 'z:1' },
      ];
    });
    expect(applyConfiguration(base, edited, LOOKUP)).toEqual({
      ...identity,
      metadata: { ...identity.metadata, labels: { b: '3' } },
      spec: {
        containers: [
          { name: 'y', image: 'y:2' },
          { name: 'z', image: 'z:1' },
        ],
      },
    });
  });

  it('has whole lists where the server replaces them', () => {
    const edited = edit((copy) => {
      (copy['spec'] as { containers: JsonObject[] }).containers[0] = {
        name: 'x',
        image: 'x:1',
        command: ['run', 'fast'],
      };
    });
    expect(applyConfiguration(base, edited, LOOKUP)['spec']).toEqual({
      containers: [{ name: 'x', command: ['run', 'fast'] }],
    });
    const without = applyConfiguration(base, edited, undefined)['spec'] as { containers: Json[] };
    expect(without.containers).toHaveLength(2);
  });

  it('keeps what this manager applied before', () => {
    const owned = {
      'f:spec': { 'f:replicas': {}, 'f:containers': { 'k:{"name":"y"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
    };
    expect(applyConfiguration(base, base, LOOKUP, owned)).toEqual({
      ...identity,
      spec: { replicas: 1, containers: [{ name: 'y', image: 'y:1' }] },
    });
  });

  it('names removed fields', () => {
    const edited = edit((copy) => {
      delete (copy['metadata'] as JsonObject)['labels'];
      delete (copy['spec'] as JsonObject)['replicas'];
    });
    expect(removedFields(base, edited)).toEqual(['.metadata.labels', '.spec.replicas']);
  });
});
