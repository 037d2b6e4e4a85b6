import { describe, expect, it } from 'vitest';
import { customDefinitions } from './custom-definitions.ts';
import type { CustomResourceDefinition } from '@gantry/objects';
import { type JsonSchema } from '@gantry/apimachinery';
import { type OpenApiForm, customSchemas } from '@gantry/apimachinery/testing';

const META = { apiVersion: { type: 'string' }, kind: { type: 'string' } };
const OBJECT_META = {
  allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
  description: expect.stringMatching(/^Standard object's metadata\./) as string,
};
const NAMED = { 'x-kubernetes-group-version-kind': [{ group: 'example.org', version: 'v1', kind: 'Thing' }] };

function published(schema: JsonSchema, form: OpenApiForm, selectable?: readonly string[]): unknown {
  const crd: CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema as never },
          ...(selectable === undefined ? {} : { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) }),
        },
      ],
    },
  };
  const [definition] = customDefinitions(crd, {});
  const all = definition === undefined ? [] : customSchemas(definition, () => undefined, form);
  return Object.fromEntries(all)['org.example.v1.Thing'];
}

const root = (properties: Readonly<Record<string, JsonSchema>>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
});

describe('published schemas of custom resources', () => {
  it('say of a kind that may hold anything nothing more in version 2', () => {
    const schema = root({ spec: { type: 'object' } }, { 'x-kubernetes-preserve-unknown-fields': true });
    expect(published(schema, 'v2')).toEqual({ type: 'object', ...NAMED });
    expect(published(schema, 'v3')).toEqual({
      ...schema,
      properties: { ...META, metadata: OBJECT_META, spec: { type: 'object' } },
      ...NAMED,
    });
  });

  it.each<[string, JsonSchema, unknown]>([
    ['alternatives', { type: 'string', anyOf: [{ minLength: 1 }], not: { maxLength: 2 } }, { type: 'string' }],
    ['a default', { type: 'string', default: 'x' }, { type: 'string' }],
    ['a null', { type: 'object', nullable: true, properties: { a: { type: 'string' } } }, {}],
    [
      'a required null',
      { type: 'object', required: ['a', 'b'], properties: { a: { type: 'string', nullable: true }, b: META.kind } },
      { type: 'object', required: ['b'], properties: { a: {}, b: META.kind } },
    ],
    [
      'required keys of a map of nulls',
      { type: 'object', required: ['a'], additionalProperties: { type: 'string', nullable: true } },
      { type: 'object', additionalProperties: {} },
    ],
    [
      'a free object',
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: META.kind } },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'a free list',
      { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: META.kind },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    ['a number or text', { 'x-kubernetes-int-or-string': true }, { 'x-kubernetes-int-or-string': true }],
    [
      'a free embedded resource',
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    ],
  ])('say of %s in version 2 what its readers understand', (_name, schema, shown) => {
    expect(published(root({ a: schema }), 'v2')).toMatchObject({ properties: { a: shown } });
    const { properties } = published(root({ a: schema }), 'v2') as { properties: Record<string, unknown> };
    expect(properties.a).toEqual(shown);
  });

  it('offer a number or a text in version 3, beside what else is asked', () => {
    const choices = [{ type: 'integer' }, { type: 'string' }];
    const free = { 'x-kubernetes-int-or-string': true } as const;
    const narrowed: JsonSchema = { ...free, anyOf: [{ minimum: 1 }, { pattern: '^a' }], allOf: [{ maximum: 5 }] };
    expect(published(root({ free, narrowed, said: { ...free, anyOf: choices } }), 'v3')).toMatchObject({
      properties: {
        free: { ...free, anyOf: choices },
        narrowed: { ...free, anyOf: narrowed.anyOf, allOf: [{ anyOf: choices }, { maximum: 5 }] },
        said: { ...free, anyOf: choices },
      },
    });
  });

  it('complete embedded resources, and name the selectable fields', () => {
    const embedded: JsonSchema = { type: 'object', 'x-kubernetes-embedded-resource': true, required: ['kind'] };
    const schema = root({ spec: { type: 'object', properties: { pod: embedded, s: META.kind } } });
    expect(published(schema, 'v3', ['.spec.s'])).toMatchObject({
      properties: {
        spec: { properties: { pod: { required: ['kind', 'apiVersion'], properties: { metadata: OBJECT_META } } } },
      },
      'x-kubernetes-selectable-fields': [{ fieldPath: 'spec.s' }],
    });
  });
});
