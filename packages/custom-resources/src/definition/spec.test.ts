import type { Turn } from '@gantry/base';
import { errorsOf, type JsonSchema } from '@gantry/apimachinery';
import { type CustomResourceDefinitionSpec, formatFieldError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { validateDefinitionSpec } from './spec.ts';

type Version = CustomResourceDefinitionSpec['versions'][number];

const range = <T>(size: number, each: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => each(i));

function specOf(schema: object, ...more: readonly Partial<Version>[]): CustomResourceDefinitionSpec {
  const version: Version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    group: 'g.io',
    scope: 'Namespaced',
    names: { kind: 'A', plural: 'as', singular: 'a', listKind: 'AList' },
    conversion: { strategy: 'None' },
    versions: more.length === 0 ? [version] : more.map((one) => ({ ...version, ...one })),
  };
}

const textsOf = (spec: CustomResourceDefinitionSpec, old?: CustomResourceDefinitionSpec) =>
  errorsOf(validateDefinitionSpec(spec, old)).map((error) => `${error.field}: ${formatFieldError(error)}`);

/** Counts how often an object's fields are listed or read. */
function counted<T extends object>(object: T): { readonly object: T; readonly count: () => number } {
  let count = 0;
  const proxy = new Proxy(object, {
    ownKeys: (fields) => [count++, Reflect.ownKeys(fields)][1] as string[],
    get: (fields, name) => [count++, Reflect.get(fields, name) as unknown][1],
  });
  return { object: proxy, count: () => count };
}

describe('looks at a schema as often for many as for few', () => {
  const looks = (specWith: (properties: JsonSchema['properties'] & object) => CustomResourceDefinitionSpec) => {
    const properties = counted({ b: { type: 'string' } });
    textsOf(specWith(properties.object));
    return properties.count();
  };

  it('rules with wrong paths', () => {
    const of = (rules: number) =>
      looks((properties) => {
        const wrong = range(rules, () => ({ rule: 'true', fieldPath: '.wrong' }));
        return specOf({ type: 'object', properties, 'x-kubernetes-validations': wrong });
      });
    expect(of(100)).toBeLessThanOrEqual(of(10));
  });

  it('selectable fields', () => {
    const of = (fields: number) =>
      looks((properties) => {
        const selectableFields = range(fields, (i) => ({ jsonPath: `.wrong${i}` }));
        return specOf({ type: 'object', properties }, { selectableFields });
      });
    expect(of(100)).toBeLessThanOrEqual(of(10));
  });

  it('defaults around it', () => {
    const of = (levels: number) =>
      looks((properties) => {
        let schema: JsonSchema = { type: 'object', properties, default: {} };
        for (let level = 0; level < levels; level++)
          schema = { type: 'object', properties: { a: schema }, default: {} };
        return specOf({ type: 'object', properties: { spec: schema } });
      });
    expect(of(40)).toBeLessThanOrEqual(of(10));
  });
});

it('prints versions only where something is wrong with them', () => {
  const looks = (storage: boolean) => {
    const properties = counted({ b: { type: 'string' } });
    const openAPIV3Schema = { type: 'object', properties: properties.object };
    const spec = specOf({ type: 'object' }, {}, { name: 'v2', storage, schema: { openAPIV3Schema } });
    return { errors: textsOf(spec).length, count: properties.count() };
  };
  const [right, wrong] = [looks(false), looks(true)];
  expect([right.errors, wrong.errors]).toEqual([0, 1]);
  expect(right.count).toBeLessThan(wrong.count);
});

it('looks at each version as often for many versions as for few', () => {
  const versionOf = (i: number) => ({
    name: `v${i}`,
    storage: i === 0,
    schema: { openAPIV3Schema: { type: 'object', description: `of v${i}` } },
  });
  const of = (versions: number) => {
    const first = counted<Partial<Version>>({
      name: 'first',
      served: true,
      storage: false,
      schema: { openAPIV3Schema: { type: 'object' } },
    });
    const spec = specOf({ type: 'object' }, ...range(versions, versionOf));
    const all = { ...spec, versions: [first.object as Version, ...spec.versions] };
    expect(textsOf(all, spec)).toEqual([]);
    return first.count();
  };
  expect(of(100)).toBeLessThanOrEqual(of(10));
});

describe('rules that defaults are validated by', () => {
  // Each evaluation costs about 500,000.
  const rule = 'lists.range(300).all(x, lists.range(300).all(y, x + y >= 0))';
  const withDefaults = (size: number) => {
    const property = { type: 'object', default: {}, 'x-kubernetes-validations': [{ rule }] };
    return specOf({ type: 'object', properties: Object.fromEntries(range(size, (i) => [`p${i}`, property])) });
  };

  it('share one budget, which ends their validation', () => {
    const out = textsOf(withDefaults(40)).filter((text) => text.includes('running out of cost budget'));
    expect(out).toHaveLength(1);
    expect(textsOf(withDefaults(4))).toEqual([]);
  });

  it('are refused as a whole where there are too many to compile', () => {
    const rules = range(6000, () => ({ rule: 'true' }));
    const of = (defaulted: object) => ({ type: 'object', ...defaulted, 'x-kubernetes-validations': rules });
    const [some, none] = [of({ default: {} }), of({})].map((property) =>
      textsOf(specOf({ type: 'object', properties: { a: property, b: property } })),
    );
    expect(none).toHaveLength(1);
    expect(some).toEqual([
      'spec.validation.openAPIV3Schema.properties[a].default: Forbidden: ' +
        'expressions and patterns of the object have more than 30000 parts together',
    ]);
  });

  it('are evaluated in pieces', () => {
    let pieces = 0;
    const turn: Turn = { now: () => 0, isOver: () => ++pieces % 2 === 0 };
    const errors = validateDefinitionSpec(withDefaults(1), undefined)(turn);
    let yields = 0;
    while (errors.next().done !== true) yields++;
    expect(yields).toBeGreaterThan(100);
  });
});

describe('wrong names of keys', () => {
  const withKeys = (keys: readonly string[]) =>
    textsOf(
      specOf({
        type: 'object',
        properties: {
          l: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': keys,
            items: { type: 'object', properties: { a: { type: 'string' } } },
          },
        },
      }),
    ).filter((text) => text.includes('entries must all be names'));

  it('are reported with all keys', () => {
    const text =
      'spec.validation.openAPIV3Schema.properties[l].x-kubernetes-list-map-keys: Invalid value: ["x","y"]: entries must all be names of item properties';
    expect(withKeys(['x', 'y'])).toEqual([text, text]);
  });

  it('make messages that grow with their number', () => {
    const of = (size: number) => withKeys(range(size, (i) => `key-${i}`)).join('').length;
    expect(withKeys(range(300, (i) => `key-${i}`))).toHaveLength(300);
    expect(of(1200) / of(300)).toBeLessThan(6);
  });
});

it('is validated in pieces: for each version and each look at its schema', () => {
  const spec = specOf(
    {},
    ...range(3, (i) => ({
      name: `v${i + 1}`,
      storage: i === 0,
      schema: { openAPIV3Schema: { type: 'object', description: `v${i}` } },
    })),
  );
  const turn: Turn = { now: () => 0, isOver: () => true };
  let pieces = 0;
  const errors = validateDefinitionSpec(spec, undefined)(turn);
  for (let piece = errors.next(); ; piece = errors.next()) {
    if (piece.done === true) expect(piece.value).toEqual([]);
    if (piece.done === true) break;
    pieces++;
  }
  expect(pieces).toBeGreaterThanOrEqual(3 * 5);
});
