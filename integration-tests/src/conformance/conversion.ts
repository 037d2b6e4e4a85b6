import {
  CustomObjectsApi,
  type KubernetesObject,
  type V1CustomResourceDefinition,
  type V1JSONSchemaProps,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { type CustomObject, CustomResources, definition, establish, version } from './crd-fixtures.ts';
import { KINDS } from './kinds.ts';
import { expectNotFound, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { Watching } from './watching.ts';
import { type Handler, startWebhookServer } from './webhook-server.ts';
import { type Proof, proof, type World } from './world.ts';

const EFFECTIVE_MS = 120_000;
const CONVERSION = '[sig-api-machinery] CustomResourceConversionWebhook [Privileged:ClusterAdmin]';

type Fields = Readonly<Record<string, unknown>>;

/** v1 has `hostPort`; v2 has `host` and `port`. */
const convert: Handler = (review) => {
  const { uid, desiredAPIVersion, objects } = review['request'] as {
    uid: string;
    desiredAPIVersion: string;
    objects: readonly Fields[];
  };
  const convertedObjects = objects.map((object) => convertOne(object, desiredAPIVersion));
  const { apiVersion, kind } = review;
  return { apiVersion, kind, response: { uid, convertedObjects, result: { status: 'Success' } } };
};

function convertOne(object: Fields, apiVersion: string): Fields {
  if (object['apiVersion'] === apiVersion) return object;
  if (apiVersion.endsWith('/v2')) {
    const { hostPort, ...rest } = object as { hostPort?: string } & Fields;
    const [host, port] = (hostPort ?? '').split(':');
    return { ...rest, apiVersion, ...(host === '' ? {} : { host }), ...(port === undefined ? {} : { port }) };
  }
  const { host, port, ...rest } = object as { host?: string; port?: string } & Fields;
  const joined = [host, port].filter((part) => part !== undefined).join(':');
  return { ...rest, apiVersion, ...(joined === '' ? {} : { hostPort: joined }) };
}

const text = (...fields: string[]): V1JSONSchemaProps => ({
  type: 'object',
  properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
});

/** Two versions, the first stored, that the test's server converts into each other. */
async function converted(world: World): Promise<{ made: V1CustomResourceDefinition; namespace: string }> {
  const server = await startWebhookServer({ '/convert': convert });
  world.atEnd(async () => server[Symbol.asyncDispose]());
  const namespace = await world.namespace();
  const selectable = (...fields: string[]) => ({
    selectableFields: fields.map((field) => ({ jsonPath: `.${field}` })),
  });
  const wanted = definition(world, {
    scope: 'Namespaced',
    versions: [
      version('v1', text('hostPort'), selectable('hostPort')),
      version('v2', text('host', 'port'), { storage: false, ...selectable('host', 'port') }),
    ],
    spec: {
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: server.url('/convert'), caBundle: server.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  });
  // Its objects go before the server that converts them.
  const name = wanted.metadata?.name ?? '';
  const definitions = new Resource<V1CustomResourceDefinition>(world.cluster, KINDS.CustomResourceDefinition);
  world.atEnd(() =>
    eventually(`${name} is gone`, EFFECTIVE_MS, async () => {
      await expectNotFound(definitions.get(name));
      return true;
    }),
  );
  return { made: await establish(world, wanted), namespace };
}

const names = (objects: readonly CustomObject[]) => objects.map(({ metadata }) => metadata.name).sort();

export const CONVERSION_PROOFS: readonly Proof[] = [
  proof(`${CONVERSION} should be able to convert from CR v1 to CR v2 [Conformance]`, async (world) => {
    const { made, namespace } = await converted(world);
    const first = new CustomResources(world, made, namespace, 'v1');
    const second = new CustomResources(world, made, namespace, 'v2');
    await first.create(first.object('one', { hostPort: 'localhost:8080' }));
    const found = await second.get('one');
    expect(found).toMatchObject({ apiVersion: `${made.spec.group}/v2`, host: 'localhost', port: '8080' });
    expect(found).not.toHaveProperty('hostPort');
  }),

  proof(`${CONVERSION} should be able to convert a non homogeneous list of CRs [Conformance]`, async (world) => {
    const { made, namespace } = await converted(world);
    const first = new CustomResources(world, made, namespace, 'v1');
    const second = new CustomResources(world, made, namespace, 'v2');
    await first.create(first.object('one', { hostPort: 'localhost:8080' }));
    const definitions = new Resource<V1CustomResourceDefinition>(world.cluster, KINDS.CustomResourceDefinition);
    await retryOnConflict(async () => {
      const found = await definitions.get(made.metadata?.name ?? '');
      for (const one of found.spec.versions) one.storage = one.name === 'v2';
      return await definitions.replace(found);
    });
    await first.create(first.object('two', { hostPort: 'localhost:8080' }));
    for (const object of await first.list()) expect(object).toMatchObject({ hostPort: 'localhost:8080' });
    for (const object of await second.list()) expect(object).toMatchObject({ host: 'localhost', port: '8080' });
    for (const objects of [first, second]) expect(names(await objects.list())).toEqual(['one', 'two']);
  }),

  proof(
    '[sig-api-machinery] CustomResourceFieldSelectors [Privileged:ClusterAdmin] CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector [Conformance]',
    async (world) => {
      const { made, namespace } = await converted(world);
      const first = new CustomResources(world, made, namespace, 'v1');
      const second = new CustomResources(world, made, namespace, 'v2');
      const watching = ({ path }: CustomResources, fieldSelector: string) =>
        Watching.open<CustomObject & KubernetesObject>(world.cluster.config, path, { fieldSelector });
      using byHost = await watching(second, 'host=host1');
      using byBoth = await watching(second, 'host=host1,port=80');
      using byJoined = await watching(first, 'hostPort=host1:80');
      await second.create(second.object('one', { host: 'host1', port: '80' }));
      await second.create(second.object('two', { host: 'host1', port: '8080' }));
      await second.create(second.object('three', { host: 'host2' }));

      const expectList = async (objects: CustomResources, fieldSelector: string, wanted: readonly string[]) =>
        expect(names(await objects.list({ fieldSelector })), fieldSelector).toEqual(wanted);
      await expectList(second, 'host=host1', ['one', 'two']);
      await expectList(second, 'host=host1,port=80', ['one']);
      await expectList(first, 'hostPort=host1:80', ['one']);
      await expectList(first, 'hostPort=host1:8080', ['two']);

      // One is deleted, the other stops matching: both are deletions for the watch.
      const { group, version: of, plural } = second.at;
      const collection = { group, version: of, plural, namespace, gracePeriodSeconds: 0 };
      const fieldSelector = 'host=host1,port=80';
      await world.api(CustomObjectsApi).deleteCollectionNamespacedCustomObject({ ...collection, fieldSelector });
      await second.patch('two', [{ op: 'replace', path: '/host', value: 'host2' }]);
      await eventually('none matches', EFFECTIVE_MS, async () => {
        return (await second.list({ fieldSelector: 'host=host1' })).length === 0;
      });
      const expectEvents = async (
        watch: Watching<CustomObject & KubernetesObject>,
        wanted: readonly (readonly [string, string])[],
      ) => {
        for (const [type, name] of wanted)
          expect(await watch.next(`${type} ${name}`)).toMatchObject({ type, object: { metadata: { name } } });
      };
      await expectEvents(byHost, [
        ['ADDED', 'one'],
        ['ADDED', 'two'],
        ['DELETED', 'one'],
        ['DELETED', 'two'],
      ]);
      for (const watch of [byBoth, byJoined])
        await expectEvents(watch, [
          ['ADDED', 'one'],
          ['DELETED', 'one'],
        ]);
    },
  ),
];
