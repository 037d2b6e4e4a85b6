import { PatchStrategy, type V1CustomResourceDefinition, type V1JSONSchemaProps } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { anything, CustomResources, definition, establish, version } from './crd-fixtures.ts';
import { type Proof, proof, type RawAnswer, type World } from './world.ts';

const VALIDATION = '[sig-api-machinery] FieldValidation should';
const STRICT = 'fieldManager=conformance&fieldValidation=Strict';

const CRON_FIELDS: Record<string, V1JSONSchemaProps> = {
  foo: { type: 'string' },
  cronSpec: { type: 'string', pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$' },
  ports: {
    type: 'array',
    x_kubernetes_list_map_keys: ['containerPort', 'protocol'],
    x_kubernetes_list_type: 'map',
    items: {
      type: 'object',
      required: ['containerPort', 'protocol'],
      properties: {
        containerPort: { type: 'integer', format: 'int32' },
        hostIP: { type: 'string' },
        hostPort: { type: 'integer', format: 'int32' },
        name: { type: 'string' },
        protocol: { type: 'string' },
      },
    },
  },
};

const CRON: V1JSONSchemaProps = {
  type: 'object',
  properties: { spec: { type: 'object', properties: CRON_FIELDS } },
};

const CRON_PRESERVING: V1JSONSchemaProps = {
  type: 'object',
  properties: {
    spec: { type: 'object', x_kubernetes_preserve_unknown_fields: true, properties: CRON_FIELDS },
  },
};

const CRON_EMBEDDING: V1JSONSchemaProps = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      x_kubernetes_preserve_unknown_fields: true,
      properties: {
        ...CRON_FIELDS,
        template: {
          type: 'object',
          x_kubernetes_embedded_resource: true,
          properties: {
            metadata: { type: 'object', properties: { name: { type: 'string' } } },
            spec: { type: 'object' },
          },
        },
      },
    },
  },
};

/** A definition with one schema in two served versions. */
function twoVersions(world: World, schema: V1JSONSchemaProps): Promise<V1CustomResourceDefinition> {
  const versions = [version('v1beta1', schema), version('v1beta2', schema, { storage: false })];
  return establish(world, definition(world, { versions }));
}

const PORTS = `  cronSpec: "* * * * */5"
  ports:
  - name: x
    containerPort: 80
    protocol: TCP`;

/** Applies a YAML document from the server's side: as it is written, which no client library would send. */
async function apply(world: World, schema: V1JSONSchemaProps, meta: string, fields: string): Promise<RawAnswer> {
  const { at, kind, path } = new CustomResources(world, await twoVersions(world, schema));
  const body = `apiVersion: ${at.group}/${at.version}
kind: ${kind}
metadata:
  name: mytest
${meta}${fields}${PORTS}`;
  const headers = { 'content-type': PatchStrategy.ServerSideApply };
  return await world.cluster.raw(`${path}/mytest?${STRICT}`, { method: 'PATCH', headers, body });
}

function applied(codename: string, schema: V1JSONSchemaProps, fields: string): Proof {
  return proof(codename, async (world) => {
    const answer = await apply(world, schema, '', fields);
    expect(answer.status, answer.text).toBe(201);
  });
}

function refused(codename: string, schema: V1JSONSchemaProps, [meta, fields]: [string, string], why: RegExp): Proof {
  return proof(codename, async (world) => {
    const answer = await apply(world, schema, meta, fields);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).toMatch(why);
  });
}

/** A Deployment as a text, so that a field may be in it twice. */
function deploymentText(meta: string, spec: string): string {
  return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"my-dep",${meta}"labels":{"app":"nginx"}},
    "spec":{${spec}"selector":{"matchLabels":{"app":"nginx"}},"template":{"metadata":{"labels":{"app":"nginx"}},
    "spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`;
}

async function expectStrictRefusal(world: World, body: string, why: string): Promise<void> {
  const namespace = await world.namespace();
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments?${STRICT}`;
  const headers = { 'content-type': 'application/json' };
  const answer = await world.cluster.raw(path, { method: 'POST', headers, body });
  expect(answer.status).toBe(400);
  expect((JSON.parse(answer.text) as { message: string }).message).toContain(why);
}

export const FIELD_VALIDATION: readonly Proof[] = [
  proof(`${VALIDATION} detect unknown and duplicate fields of a typed object [Conformance]`, async (world) => {
    await expectStrictRefusal(
      world,
      deploymentText('', '"unknownField":"foo","replicas":2,"replicas":3,'),
      'strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"',
    );
  }),
  proof(`${VALIDATION} detect unknown metadata fields of a typed object [Conformance]`, async (world) => {
    await expectStrictRefusal(
      world,
      deploymentText('"unknownMeta":"foo",', ''),
      'strict decoding error: unknown field "metadata.unknownMeta"',
    );
  }),
  applied(
    `${VALIDATION} create/apply a valid CR for CRD with validation schema [Conformance]`,
    CRON,
    'spec:\n  foo: foo1\n',
  ),
  applied(
    `${VALIDATION} create/apply a CR with unknown fields for CRD with no validation schema [Conformance]`,
    anything(),
    'spec:\n  unknown: uk1\n',
  ),
  refused(
    `${VALIDATION} create/apply an invalid CR with extra properties for CRD with validation schema [Conformance]`,
    CRON,
    ['unknownField: unknown\n', 'spec:\n  foo: foo1\n'],
    /\.unknownField: field not declared in schema/,
  ),
  refused(
    `${VALIDATION} detect unknown metadata fields in both the root and embedded object of a CR [Conformance]`,
    CRON_EMBEDDING,
    [
      '  unknownMeta: unknown\n',
      `spec:
  template:
    apiversion: foo/v1
    kind: Sub
    metadata:
      unknownSubMeta: unknown
      name: subobject
      namespace: default
  foo: foo1
`,
    ],
    /\.spec\.template\.metadata\.unknownSubMeta: field not declared in schema|\.metadata\.unknownMeta: field not declared in schema/,
  ),
  refused(
    `${VALIDATION} detect duplicates in a CR when preserving unknown fields [Conformance]`,
    CRON_PRESERVING,
    ['', 'spec:\n  unknown: uk1\n  foo: foo1\n  foo: foo2\n'],
    /line 8: key \\"foo\\" already set in map/,
  ),
];
