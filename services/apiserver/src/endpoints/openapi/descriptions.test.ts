import { openApiDocument, openApiPathOf } from '@gantry/apimachinery';
import { resources as listed } from '@gantry/kinds';
import { widgets } from '@gantry/kinds/testing';
import { expect, test } from 'vitest';
import { createDescribe } from './descriptions.ts';
import { OpenApiDocuments } from './openapi-documents.ts';

// The example of docs/extending.md must pass the same tests as the listed kinds.
const resources = [...listed, widgets];
const describeField = createDescribe(resources);

test.each([
  ['apps.v1.DeploymentStrategy', '', 'DeploymentStrategy describes how to replace existing pods with new ones.'],
  [
    'apps.v1.DeploymentStrategy',
    'type',
    'Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate.',
  ],
  ['core.v1.Pod', 'nonsense', undefined],
])('%s %s', (schema, field, sentence) => {
  expect(describeField(schema, field)).toBe(sentence);
});

type Schemas = Readonly<Record<string, Held>>;
interface Held {
  readonly description?: string;
  readonly allOf?: readonly { readonly $ref: string }[];
  readonly properties?: Readonly<Record<string, Held>>;
  readonly items?: Held;
  readonly additionalProperties?: Held | boolean;
}

const options = { version: '1.36', describe: describeField };
const documents = OpenApiDocuments.create(options).following(resources, new Map());

const pathsOf = (of: typeof resources) => [...new Set(of.map(openApiPathOf))];

function parse(document: { readonly bytes: Buffer } | undefined): unknown {
  return JSON.parse(document?.bytes.toString() ?? 'null');
}

test('every field that holds an object has a text of its own, which is not that of the type', () => {
  const missing = pathsOf(resources).flatMap((path) => {
    const { components } = openApiDocument(resources, path, options) as unknown as { components: { schemas: Schemas } };
    return Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([field, { description, allOf = [] }]) => {
        const held = allOf[0]?.$ref.replace('#/components/schemas/', '');
        if (held === undefined) return [];
        return description === undefined || description === components.schemas[held]?.description
          ? [`${name}.${field}`]
          : [];
      }),
    );
  });
  expect(missing).toEqual([]);
});

/** The names of a schema and of the fields in it, at any depth, that have no text. */
function silentIn(name: string, schema: Held): readonly string[] {
  const own = (schema.description ?? '') === '' ? [name] : [];
  return [...own, ...silentBelow(name, schema)];
}

/** Items and values of maps need no text, but the fields in them do. */
function silentBelow(name: string, { properties = {}, items, additionalProperties }: Held): readonly string[] {
  const inner = typeof additionalProperties === 'object' ? additionalProperties : items;
  return [
    ...Object.entries(properties).flatMap(([field, of]) => silentIn(`${name}.${field}`, of)),
    ...(inner === undefined ? [] : silentBelow(`${name}[]`, inner)),
  ];
}

/** The types and fields of the OpenAPI documents of these resources that have no text. */
function silentOf(of: typeof resources): readonly string[] {
  const silent = pathsOf(of).flatMap((path) => {
    const { components } = openApiDocument(of, path, options) as unknown as { components: { schemas: Schemas } };
    return Object.entries(components.schemas).flatMap(([name, schema]) => silentIn(name, schema));
  });
  return [...new Set(silent)].filter((name) => !name.includes('.JSONSchemaProps.'));
}

test('every type has a text, and every field but those of schemas, which have none in Kubernetes', () => {
  expect(silentOf(resources), 'types and fields without a description').toEqual([]);
});

test('a field of a field, of an item and of a value must have a text, too', () => {
  const silent = { type: 'object', description: 'A text.', properties: { size: { type: 'integer' } } };
  const { publishedSchema } = widgets;
  const properties = {
    ...publishedSchema?.properties,
    spec: silent,
    list: { type: 'array', description: 'A text.', items: silent },
    map: { type: 'object', description: 'A text.', additionalProperties: silent },
  };
  const changed = { ...widgets, publishedSchema: { ...publishedSchema, properties } };
  expect(silentOf([changed])).toEqual([
    'dev.example.v1.Widget.spec.size',
    'dev.example.v1.Widget.list[].size',
    'dev.example.v1.Widget.map[].size',
  ]);
});

interface Operation {
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
}

/** The operations of a document with method and path, including the parameters of the path. */
function operationsOf(document: unknown): readonly (Operation & { readonly id: string })[] {
  const { paths } = document as { paths: Record<string, Record<string, unknown>> };
  return Object.entries(paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { description, parameters = [] } = operation as Operation;
      const all = [...(shared as NonNullable<Operation['parameters']>), ...parameters].filter(
        ({ name }) => name !== 'body',
      );
      return { id: `${method} ${path}`, ...(description === undefined ? {} : { description }), parameters: all };
    }),
  );
}

test.each(['v2', 'v3'])('every operation of %s and each of its parameters is described', async (form) => {
  const whole = form === 'v2' ? [await documents.v2Json()] : documents.paths.map((path) => documents.get(path));
  const operations = whole.flatMap((document) => operationsOf(parse(document)));
  expect(operations.length).toBeGreaterThan(500);
  const silent = operations.filter(
    ({ description = '', parameters = [] }) =>
      description === '' || parameters.some((parameter) => (parameter.description ?? '') === ''),
  );
  expect(silent.map(({ id }) => id)).toEqual([]);
});

test('the document names its version as Kubernetes does, and the old watch paths of built-in resources', () => {
  const document = parse(documents.get('api/v1')) as { info: object; paths: Record<string, { get: object }> };
  expect(document.info).toEqual({ title: 'Kubernetes', version: '1.36' });
  const actions = [
    '/api/v1/watch/pods',
    '/api/v1/watch/namespaces/{namespace}/pods',
    '/api/v1/watch/namespaces/{namespace}/pods/{name}',
    '/api/v1/watch/nodes',
    '/api/v1/watch/nodes/{name}',
  ].map((path) => document.paths[path]?.get);
  expect(actions).toMatchObject([
    { operationId: 'watchCoreV1PodListForAllNamespaces', 'x-kubernetes-action': 'watchlist' },
    { operationId: 'watchCoreV1NamespacedPodList', 'x-kubernetes-action': 'watchlist' },
    { operationId: 'watchCoreV1NamespacedPod', 'x-kubernetes-action': 'watch' },
    { operationId: 'watchCoreV1NodeList', 'x-kubernetes-action': 'watchlist' },
    { operationId: 'watchCoreV1Node', 'x-kubernetes-action': 'watch' },
  ]);
  expect(document.paths['/api/v1/watch/componentstatuses']).toBeUndefined();
});
