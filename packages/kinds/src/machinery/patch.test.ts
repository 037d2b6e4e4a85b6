import { must } from '@gantry/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findResource } from '../registry.ts';
import { type KubeObject, StatusError, cloneJson } from '@gantry/objects';
import { PatchConflict, applyJsonPatch, applyPatch, schemaOf } from '@gantry/apimachinery';
import { applyMergePatch, applyStrategicMergePatch, goFormat } from '@gantry/apimachinery/testing';

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

describe('merge patches', () => {
  it('change nothing when applied again', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  it('leave the target alone, take nulls out and replace lists', () => {
    const target = { a: { b: 1, c: 2 }, l: [1, 2] };
    expect(applyMergePatch(target, { a: { b: null, d: 3 }, l: [3] })).toEqual({ a: { c: 2, d: 3 }, l: [3] });
    expect(target).toEqual({ a: { b: 1, c: 2 }, l: [1, 2] });
  });
});

describe('keys that objects of the language have', () => {
  const text = (value: unknown) => JSON.stringify(value);
  const parse = (value: string) => JSON.parse(value) as Record<string, unknown>;
  const target = '{"labels":{"__proto__":{"a":1},"constructor":2}}';

  it.each(['{"labels":{"__proto__":{"b":2},"x":"y"}}', '{"labels":{"constructor":{"prototype":{"c":3}}}}'])(
    'are keys like any other: %s',
    (patch) => {
      const merged = applyMergePatch(cloneJson(parse(target)), parse(patch));
      const wanted = patch.includes('x')
        ? '{"labels":{"__proto__":{"a":1,"b":2},"constructor":2,"x":"y"}}'
        : '{"labels":{"__proto__":{"a":1},"constructor":{"prototype":{"c":3}}}}';
      expect(text(merged)).toBe(wanted);
      expect(text(applyStrategicMergePatch(cloneJson(parse(target)), parse(patch), schemaOf('core.v1.Pod')))).toBe(
        wanted,
      );
      expect(({} as Record<string, unknown>)['b']).toBeUndefined();
    },
  );

  it('stay what they are through a copy and a JSON patch', () => {
    const path = '/labels/__proto__/b';
    const patched = applyJsonPatch(cloneJson(parse(target)), [{ op: 'add', path, value: 3 }]);
    expect(text(patched)).toBe('{"labels":{"__proto__":{"a":1,"b":3},"constructor":2}}');
  });
});

describe('JSON patches', () => {
  it.each([
    [{ a: [1, 2] }, [{ op: 'add', path: '/a/1', value: 9 }], { a: [1, 9, 2] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/-1' }], { a: [1] }],
    [{ a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 5 }], { a: [5, 2] }],
    [{ 'x/y': 1 }, [{ op: 'move', from: '/x~1y', path: '/m~0n' }], { 'm~n': 1 }],
    [
      { a: { b: 1 } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'remove', path: '/a/b' },
      ],
      { a: {}, c: { b: 1 } },
    ],
    [
      { a: 1 },
      [
        { op: 'test', path: '/a', value: 1 },
        { op: 'replace', path: '', value: { z: 1 } },
      ],
      { z: 1 },
    ],
  ])('%j with %j is %j', (document, operations, expected) => {
    expect(applyJsonPatch(document, operations)).toEqual(expected);
  });

  it('refuses copies that would double a document over and over', () => {
    const copies = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/x' })).map((copy, index) => ({
      ...copy,
      path: `/a/x${index}`,
    }));
    expect(() => applyJsonPatch({ a: { b: 1 } }, copies)).toThrow(PatchConflict);
  });

  it('refuses copies of long texts', () => {
    const copies = Array.from({ length: 4 }, (_, index) => ({ op: 'copy', from: '/a', path: `/${index}` }));
    expect(() => applyJsonPatch({ a: 'x'.repeat(1024 * 1024) }, copies)).toThrow(PatchConflict);
  });

  it.each([
    [{ op: 'remove', path: '/nope/nope' }],
    [{ op: 'remove', path: '/nope' }],
    [{ op: 'replace', path: '/a/5', value: 1 }],
    [{ op: 'move', from: '/nope', path: '/b' }],
    [{ op: 'add', path: '/a/5', value: 1 }],
    [{ op: 'test', path: '/a', value: [2] }],
    [{ op: 'copy', from: '/nope/nope', path: '/b' }],
    [{ op: 'bogus', path: '/a' }],
    [{ op: 'add', path: 'a', value: 1 }],
  ])('refuses %j', (operation) => {
    expect(() => applyJsonPatch({ a: [1] }, [operation])).toThrow(PatchConflict);
  });
});

describe('strategic merge patches', () => {
  const deployment = schemaOf('apps.v1.Deployment');
  const withContainers = (...containers: object[]) => ({ spec: { template: { spec: { containers } } } });
  const merge = (original: object, patch: object) =>
    applyStrategicMergePatch(original as Record<string, unknown>, patch as Record<string, unknown>, deployment);

  it('merge lists by their key, new items first', () => {
    const original = withContainers({ name: 'a', image: 'x', env: [{ name: 'E', value: '1' }] }, { name: 'b' });
    expect(merge(original, withContainers({ name: 'c' }, { name: 'a', image: 'y' }))).toEqual(
      withContainers({ name: 'c' }, { name: 'a', image: 'y', env: [{ name: 'E', value: '1' }] }, { name: 'b' }),
    );
  });

  it('take time in proportion to their items', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => ({ name: `c${index}` }));
    const merged = merge(withContainers({ name: 'a' }), withContainers(...names));
    const back = merge(merged, withContainers(...names.map((item) => ({ ...item, $patch: 'delete' }))));
    expect(back).toEqual(withContainers({ name: 'a' }));
  });

  it('obey $setElementOrder', () => {
    const patch = {
      spec: {
        template: {
          spec: {
            '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }],
            containers: [{ name: 'c', image: 'z' }],
          },
        },
      },
    };
    expect(merge(withContainers({ name: 'a' }, { name: 'b' }), patch)).toEqual(
      withContainers({ name: 'c', image: 'z' }, { name: 'a' }, { name: 'b' }),
    );
  });

  it.each([
    [{ name: 'a', $patch: 'delete' }, [{ name: 'b' }]],
    [{ $patch: 'replace' }, []],
  ])('obey %j in a list', (directive, left) => {
    expect(merge(withContainers({ name: 'a' }, { name: 'b' }), withContainers(directive))).toEqual(
      withContainers(...left),
    );
  });

  it('obey $patch, $retainKeys and $deleteFromPrimitiveList in maps', () => {
    expect(
      merge({ metadata: { labels: { a: 'b' } } }, { metadata: { labels: { $patch: 'replace', c: 'd' } } }),
    ).toEqual({
      metadata: { labels: { c: 'd' } },
    });
    expect(
      merge(
        { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: {} } } },
        { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      ),
    ).toEqual({ spec: { strategy: { type: 'Recreate' } } });
    expect(
      merge({ metadata: { finalizers: ['a', 'b'] } }, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }),
    ).toEqual({
      metadata: { finalizers: ['b'] },
    });
  });

  it('merge sets of scalars and replace atomic lists', () => {
    expect(merge({ metadata: { finalizers: ['a'] } }, { metadata: { finalizers: ['b', 'a'] } })).toEqual({
      metadata: { finalizers: ['b', 'a'] },
    });
    const tolerations = (...keys: string[]) => ({
      spec: { template: { spec: { tolerations: keys.map((key) => ({ key })) } } },
    });
    expect(merge(tolerations('a'), tolerations('b'))).toEqual(tolerations('b'));
  });

  it('change nothing when applied again, directives aside', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const container = fc.record({ name, image: fc.constantFrom('x', 'y') });
    const list = fc.uniqueArray(container, { selector: (item) => item.name, maxLength: 4 });
    fc.assert(
      fc.property(list, list, (original, patch) => {
        const once = merge(withContainers(...original), withContainers(...patch));
        expect(merge(once, withContainers(...patch))).toEqual(once);
      }),
    );
  });
});

describe('applyPatch', () => {
  const definition = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');
  const original: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } };

  function apply(type: string, patch: unknown, mode: 'Strict' | 'Warn' | 'Ignore' = 'Warn'): string {
    const text = typeof patch === 'string' ? patch : JSON.stringify(patch);
    try {
      const { object, warnings } = applyPatch(
        original,
        { type: `application/${type}`, bytes: new TextEncoder().encode(text) },
        { definition, mode },
      );
      return JSON.stringify([(object as { spec?: { replicas?: number } }).spec?.replicas, warnings]);
    } catch (error) {
      if (error instanceof StatusError) return `${error.code} ${error.message}`;
      throw error;
    }
  }

  const bad = '  "" is invalid: patch: Invalid value: ';
  it.each([
    ['merge-patch+json', { spec: { replicas: 3, bogus: 1 } }, '[3,["unknown field \\"spec.bogus\\""]]'],
    [
      'merge-patch+json',
      [1],
      '400 error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
    ['merge-patch+json', '{"a"', '400 error decoding patch: unexpected end of JSON input'],
    [
      'json-patch+json',
      {},
      '400 error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    ],
    [
      'json-patch+json',
      ['add'],
      '400 error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp',
    ],
    [
      'json-patch+json',
      [{ op: 1, path: '/a' }],
      '400 error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
    ['json-patch+json', [null], '422 the server rejected our request due to an error in our request'],
    [
      'json-patch+json',
      [{ op: 'add', path: '/spec', value: { replicas: 2 }, by: 'me' }],
      '[2,["json patch unknown field \\"[0].by\\""]]',
    ],
    [
      'json-patch+json',
      [{ op: 'test', path: '/kind', value: 'Nope' }],
      '422 the server rejected our request due to an error in our request',
    ],
    [
      'strategic-merge-patch+json',
      { spec: { replicas: 1.5 } },
      `422${bad}"map[spec:map[replicas:1.5]]": cannot convert float64 to int32`,
    ],
    [
      'strategic-merge-patch+json',
      { spec: { template: [] } },
      `422${bad}"map[spec:map[template:[]]]": cannot restore struct from: slice`,
    ],
    [
      'strategic-merge-patch+json',
      { metadata: { $patch: 'bogus' } },
      '400 unknown patch type: bogus in map: map[$patch:bogus]',
    ],
    [
      'strategic-merge-patch+json',
      { metadata: { $retainKeys: ['name'], labels: { q: 'r' } } },
      '400 invalid patch format of retainKeys',
    ],
    ['bogus', {}, '415 415: Unsupported Media Type'],
  ])('%s %j: %s', (type, patch, expected) => {
    expect(apply(type, patch)).toBe(expected);
  });

  it('decodes a JSON patch only once where unknown fields are ignored', () => {
    expect(apply('json-patch+json', {}, 'Ignore')).toBe(
      '400 json: cannot unmarshal object into Go value of type jsonpatch.Patch',
    );
    const operation = { op: 'add', path: '/spec', value: { replicas: 2 }, by: 'me' };
    expect(apply('json-patch+json', [operation], 'Ignore')).toBe('[2,[]]');
    expect(apply('json-patch+json', [operation], 'Strict')).toContain('json patch unknown field "[0].by"');
  });

  it('refuses unknown and repeated fields in strict mode and another kind in any', () => {
    expect(apply('merge-patch+json', '{"spec":{"bogus":1},"spec":{"bogus":1}}', 'Strict')).toContain(
      'strict decoding error: duplicate field \\"spec\\", unknown field \\"spec.bogus\\"'.replaceAll('\\', ''),
    );
    expect(apply('merge-patch+json', { kind: 'Nonsense' })).toMatch(
      /^422 .*no kind "Nonsense" is registered for version "apps\/v1" in scheme "pkg\/api\/legacyscheme\/scheme.go:30"$/,
    );
  });

  it('takes no kind from a strategic merge, but reads it', () => {
    expect(apply('strategic-merge-patch+json', { kind: 'Nonsense', apiVersion: 'v9', spec: { replicas: 2 } })).toBe(
      '[2,[]]',
    );
    expect(apply('strategic-merge-patch+json', { kind: 7 })).toContain('cannot convert int64 to string');
    expect(apply('merge-patch+json', { kind: '', spec: { replicas: 2 } })).toBe('[2,[]]');
  });

  it.each([
    [{ kind: 'Other' }, '422 Other.g.org "x" is invalid: kind: Invalid value: "Other": must be Thing'],
    [{ apiVersion: 'v9' }, '422 Thing "x" is invalid: apiVersion: Invalid value: "v9": must be g.org/v1'],
    [
      { apiVersion: '' },
      "500 Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
    ],
    [{ kind: '' }, /^422 .*: Object 'Kind' is missing in '{.*}'$/],
    [{ kind: 7 }, /^422 .*json: cannot unmarshal number into Go struct field .kind of type string$/],
    [{ metadata: { labels: { a: 'b' } } }, '200'],
  ])('has a custom resource say what it is: %j', (patch, expected) => {
    const custom = { ...definition, group: 'g.org', kind: 'Thing', publishedSchema: { type: 'object' } } as const;
    const original = { apiVersion: 'g.org/v1', kind: 'Thing', metadata: { name: 'x' } };
    let answer = '200';
    try {
      const bytes = new TextEncoder().encode(JSON.stringify(patch));
      applyPatch(original, { type: 'application/merge-patch+json', bytes }, { definition: custom, mode: 'Warn' });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      answer = `${error.code} ${error.message}`;
    }
    expect(answer).toMatch(expected);
  });

  it('leaves the keys of maps out of the paths of a strategic merge, as Kubernetes does', () => {
    const definition = must(
      findResource({ group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' }),
      'customresourcedefinitions',
    );
    const original = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'x' },
    };
    const schema = { properties: { spec: { bogus: 1 } } };
    const patch = { spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] } };
    const warnings = (type: string) =>
      applyPatch(
        original,
        { type: `application/${type}`, bytes: new TextEncoder().encode(JSON.stringify(patch)) },
        { definition, mode: 'Warn' },
      ).warnings;
    const path = 'spec.versions[0].schema.openAPIV3Schema.properties';
    expect(warnings('strategic-merge-patch+json')).toEqual([`unknown field "${path}.bogus"`]);
    expect(warnings('merge-patch+json')).toEqual([`unknown field "${path}.spec.bogus"`]);
  });

  it('answers any patch with an object or a StatusError', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json'),
        json,
        (type, patch) => {
          expect(apply(type, { spec: patch, metadata: { labels: patch } })).toBeTypeOf('string');
          expect(apply(type, [{ op: 'add', path: '/spec', value: patch }])).toBeTypeOf('string');
        },
      ),
    );
  });

  it('prints maps as Go does', () => {
    expect(goFormat({ b: [1, 'x'], a: { c: null } })).toBe('map[a:map[c:<nil>] b:[1 x]]');
  });
});

it('reports unknown fields in order of their names', () => {
  const original: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } };
  const deployments = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');
  const bytes = new TextEncoder().encode('{"spec":{"b":1,"a":2}}');
  const patch = { type: 'application/merge-patch+json', bytes };
  expect(applyPatch(original, patch, { definition: deployments, mode: 'Warn' }).warnings).toEqual([
    'unknown field "spec.a"',
    'unknown field "spec.b"',
  ]);
});

it('refuses a merge patch that is nothing', () => {
  const original: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } };
  const deployments = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');
  const nothing = (type: string) =>
    applyPatch(
      original,
      { type: `application/${type}`, bytes: new TextEncoder().encode('null') },
      { definition: deployments, mode: 'Warn' },
    );
  expect(() => nothing('merge-patch+json')).toThrow('Invalid JSON Patch');
  expect(nothing('strategic-merge-patch+json').object.metadata).toEqual({ name: 'x' });
});

describe('a patch that takes the version away', () => {
  const original: KubeObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } };
  const deployments = must(findResource({ group: 'apps', version: 'v1', resource: 'deployments' }), 'deployments');
  const apply = (type: string, patch: unknown, mode: 'Strict' | 'Warn') =>
    applyPatch(
      original,
      { type: `application/${type}`, bytes: new TextEncoder().encode(JSON.stringify(patch)) },
      { definition: deployments, mode },
    );

  it.each([
    ['merge-patch+json', { apiVersion: null }],
    ['merge-patch+json', { apiVersion: '' }],
    ['json-patch+json', [{ op: 'remove', path: '/apiVersion' }]],
  ])('leaves nothing that could be read (%s %j)', (type, patch) => {
    expect(apply(type, patch, 'Warn')).toEqual({
      object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {} },
      warnings: ['unknown field "metadata"'],
    });
    expect(() => apply(type, patch, 'Strict')).toThrow('strict decoding error: unknown field "metadata"');
  });

  it('is harmless where the result has its version in any case', () => {
    expect(apply('strategic-merge-patch+json', { apiVersion: '' }, 'Warn').object.metadata).toEqual({ name: 'x' });
  });
});
