import { afterAll, beforeAll, expect, it } from 'vitest';
import { callServer, type Reply, watchServer } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';
import { startWebhooks, type WebhookServer } from './webhook-server.ts';

/** A definition with two versions that a webhook converts: v1 has `hostPort`, v2 has `host` and `port`. */
const GROUP = 'versions.example.org';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const DEFINITION = `${DEFINITIONS}/things.${GROUP}`;
const things = (version: string) => `/apis/${GROUP}/${version}/namespaces/default/things`;

type Fields = Readonly<Record<string, unknown>>;

interface Thing {
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

let server: TestApiServer;
let webhooks: WebhookServer;

function convert(object: Fields, apiVersion: string): Fields {
  const { hostPort = '', host, port, ...rest } = object as Fields & { hostPort?: string; host?: string; port?: string };
  if (!apiVersion.endsWith('/v2'))
    return { ...rest, apiVersion, hostPort: hostPort === '' ? `${host}:${port}` : hostPort };
  const [first, second] = hostPort.split(':');
  return { ...rest, apiVersion, host: host ?? first, port: port ?? second };
}

const version = (name: string, fields: readonly string[], more: object = {}) => ({
  name,
  served: true,
  storage: false,
  selectableFields: fields.map((field) => ({ jsonPath: `.${field}` })),
  schema: {
    openAPIV3Schema: {
      type: 'object',
      description: `A thing in ${name}.`,
      properties: Object.fromEntries(fields.map((field) => [field, { type: 'string', description: `${field} of it` }])),
    },
  },
  ...more,
});
const FIRST = version('v1', ['hostPort']);
const SECOND = version('v2', ['host', 'port']);

beforeAll(async () => {
  webhooks = await startWebhooks({
    '/convert': (review) => {
      const { uid, desiredAPIVersion, objects } = review.request as unknown as {
        uid: string;
        desiredAPIVersion: string;
        objects: readonly Fields[];
      };
      const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion));
      const response = { uid, convertedObjects, result: { status: 'Success' } };
      return { raw: JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response }) };
    },
    '/mark': ({ request }) => {
      const { port } = request['object'] as Thing;
      const patch = JSON.stringify([{ op: 'replace', path: '/port', value: `${String(port)}0` }]);
      return { patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') };
    },
  });
  server = await startApiServer();
  const clientConfig = { url: `https://127.0.0.1:${webhooks.port}/convert`, caBundle: webhooks.caBundle };
  await send('POST', DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ ...FIRST, storage: true }, SECOND],
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  });
  await until(
    () => callServer(server, 'GET', things('v2')),
    ({ code }) => code === 200,
  );
});

afterAll(async () => {
  await server.stop();
  webhooks.close();
});

async function send(method: string, path: string, body?: object, type = 'application/json'): Promise<Reply['json']> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } };
  const { code, json } = await callServer(server, method, path, sent);
  expect(code, `${method} ${path}: ${JSON.stringify(json)}`).toBeLessThan(300);
  return json;
}

async function until(read: () => Promise<Reply>, holds: (reply: Reply) => boolean): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) if (holds(await read())) return;
  expect.fail('it never came');
}

const create = (inVersion: string, name: string, fields: Fields) =>
  send('POST', things(inVersion), {
    apiVersion: `${GROUP}/${inVersion}`,
    kind: 'Thing',
    metadata: { name },
    ...fields,
  });

async function listed(inVersion: string, query = ''): Promise<readonly Thing[]> {
  return ((await send('GET', `${things(inVersion)}${query}`)) as unknown as { items: readonly Thing[] }).items;
}

const names = (items: readonly Thing[]) => items.map(({ metadata }) => metadata.name);

it('an object is shown in the other version as the webhook converts it', async () => {
  await create('v1', 'one', { hostPort: 'host1:80' });
  const shown = await send('GET', `${things('v2')}/one`);
  expect(shown).toMatchObject({ apiVersion: `${GROUP}/v2`, host: 'host1', port: '80' });
  expect(shown).not.toHaveProperty('hostPort');
});

it('a field that was applied in the other version is a conflict', async () => {
  const apply = (inVersion: string, manager: string, fields: Fields) =>
    callServer(server, 'PATCH', `${things(inVersion)}/applied?fieldManager=${manager}`, {
      body: JSON.stringify({
        apiVersion: `${GROUP}/${inVersion}`,
        kind: 'Thing',
        metadata: { name: 'applied' },
        ...fields,
      }),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    });
  expect(await apply('v2', 'm', { host: 'host1', port: '80' })).toMatchObject({ code: 201 });
  const { code, json } = await apply('v1', 'n', { hostPort: 'host1:81' });
  expect([code, json.message]).toEqual([409, 'Apply failed with 1 conflict: conflict with "m": .port']);
  await send('DELETE', `${things('v1')}/applied`);
});

it('fields are selected in the version of the request, by lists and by watches', async () => {
  await create('v2', 'two', { host: 'host1', port: '8080' });
  await create('v2', 'three', { host: 'host2', port: '80' });
  const selected = async (inVersion: string, selector: string) =>
    names(await listed(inVersion, `?fieldSelector=${encodeURIComponent(selector)}`));
  expect(await selected('v2', 'host=host1')).toEqual(['one', 'two']);
  expect(await selected('v2', 'host=host1,port=80')).toEqual(['one']);
  expect(await selected('v1', 'hostPort=host1:80')).toEqual(['one']);

  // An object that no longer matches is DELETED in the watch.
  const events = watchServer(
    server,
    `${things('v2')}?watch=true&fieldSelector=${encodeURIComponent('host=host1,port=8080')}`,
  );
  const next = async () => (await events.next()).value;
  expect(await next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'two' }, host: 'host1' } });
  await send('PATCH', `${things('v1')}/two`, { hostPort: 'host3:1' }, 'application/merge-patch+json');
  expect(await next()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'two' } } });
  await events.return(undefined);
});

it('a list holds objects that were stored in different versions', async () => {
  const versions = [FIRST, { ...SECOND, storage: true }];
  await send('PATCH', DEFINITION, { spec: { versions } }, 'application/merge-patch+json');
  await create('v1', 'four', { hostPort: 'host4:4' });
  expect(names(await listed('v1'))).toEqual(['four', 'one', 'three', 'two']);
  for (const thing of await listed('v1')) expect(thing['hostPort']).toMatch(/^host\d:\d+$/);
  for (const thing of await listed('v2')) expect(thing).toMatchObject({ host: expect.stringMatching(/^host\d$/) });
});

it('a mutating webhook sees and changes an object that is stored in another version', async () => {
  const rules = [{ operations: ['UPDATE'], apiGroups: [GROUP], apiVersions: ['v2'], resources: ['things'] }];
  await send('POST', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
    metadata: { name: 'mark' },
    webhooks: [webhooks.webhook('/mark', { rules })],
  });
  await until(
    () =>
      callServer(server, 'PATCH', `${things('v2')}/one`, {
        body: JSON.stringify({ port: '7' }),
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
    ({ json }) => json['port'] === '70',
  );
  expect(await send('GET', `${things('v1')}/one`)).toMatchObject({ hostPort: 'host1:70' });
});

it('aggregated discovery has both versions', async () => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { json } = await callServer(server, 'GET', '/apis', { headers: { accept } });
  const { items } = json as unknown as { items: readonly Thing[] };
  const group = items.find(({ metadata }) => metadata.name === GROUP);
  expect(group).toMatchObject({
    versions: ['v2', 'v1'].map((name) => ({ version: name, resources: [{ resource: 'things', scope: 'Namespaced' }] })),
  });
});

it('OpenAPI follows a version that is renamed, that is served no longer, and that goes', async () => {
  const published = async () => {
    const { json } = await callServer(server, 'GET', '/openapi/v2');
    const { definitions } = json as unknown as { definitions: Record<string, Fields> };
    return Object.fromEntries(
      Object.entries(definitions)
        .filter(([name]) => /^org\.example\.versions\.\w+\.Thing$/.test(name))
        .map(([name, { description }]) => [name.split('.')[3], description]),
    );
  };
  const paths = async () => {
    const { json } = await callServer(server, 'GET', '/openapi/v3');
    return Object.keys((json as unknown as { paths: object }).paths).filter((path) => path.includes(GROUP));
  };
  const change = (versions: readonly object[]) =>
    send('PATCH', DEFINITION, { spec: { versions } }, 'application/merge-patch+json');
  const second = { ...SECOND, storage: true };
  expect(await published()).toEqual({ v1: 'A thing in v1.', v2: 'A thing in v2.' });
  expect(await paths()).toEqual([`apis/${GROUP}/v1`, `apis/${GROUP}/v2`]);

  await change([FIRST, second, version('v3', ['host'])]);
  await expect.poll(published).toEqual({ v1: 'A thing in v1.', v2: 'A thing in v2.', v3: 'A thing in v3.' });
  await change([FIRST, second, version('v4', ['host'])]);
  await expect.poll(published).toEqual({ v1: 'A thing in v1.', v2: 'A thing in v2.', v4: 'A thing in v4.' });
  await change([FIRST, second, version('v4', ['host'], { served: false })]);
  await expect.poll(published).toEqual({ v1: 'A thing in v1.', v2: 'A thing in v2.' });
  await send('DELETE', DEFINITION);
  await expect.poll(published).toEqual({});
  await expect.poll(paths).toEqual([]);
});
