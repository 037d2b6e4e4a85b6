import { readFileSync } from 'node:fs';
import { must } from '@gantry/base';
import { resources } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callServer, watchServer } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

/**
 * Tests the operations of the official conformance tests ("should support … API operations", "should run through the lifecycle of …") for
 * each kind that clients create. The objects are those recorded from a real Kubernetes, and those of `FURTHER`.
 */
/** The namespace of the recorded objects. Some of them contain its name. */
const NAMESPACE = 'codec';

/** Kinds that limit the names or the number of their objects. Other tests cover these operations for them. */
const OWN_TESTS = [
  'APIService',
  'CustomResourceDefinition',
  'Namespace',
  'ServiceCIDR',
  'IPAddress',
  'Binding',
  'Scale',
];

interface Example {
  readonly name: string;
  readonly definition: (typeof resources)[number];
  readonly body: KubeObject;
}

/** One object of each kind that is missing in the recording: some kinds of Kubernetes, and all kinds of our own. */
const FURTHER = [
  { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaimTemplate', spec: { spec: {} } },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: {
        resourceRules: [{ operations: ['CREATE'], apiGroups: ['none'], apiVersions: ['v1'], resources: ['none'] }],
      },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    spec: { policyName: 'absent' },
  },
] as unknown as readonly KubeObject[];

/** Removes the values that the server had chosen for the recorded object. */
function withoutChoices({ status: _, ...object }: KubeObject & { status?: unknown }): KubeObject {
  const { spec } = object as { spec?: Record<string, unknown> & { template?: { metadata?: object } } };
  if (object.kind === 'Service') {
    for (const field of ['clusterIP', 'clusterIPs', 'healthCheckNodePort']) delete spec?.[field];
    for (const port of (spec?.['ports'] ?? []) as { nodePort?: number }[]) delete port.nodePort;
  }
  if (object.kind === 'Job') {
    delete spec?.['selector'];
    delete spec?.template?.metadata;
  }
  return object;
}

function examples(): readonly Example[] {
  const file = new URL('../../../../integration-tests/golden/codec.jsonl', import.meta.url);
  const recorded = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly kind: string; readonly json: string });
  const objects = [...recorded.map(({ json }) => JSON.parse(json) as KubeObject), ...FURTHER];
  const byKind = new Map(objects.map((object) => [`${object.apiVersion} ${object.kind}`, object]));
  return [...byKind].flatMap(([name, object]) => {
    const definition = resources.find(
      ({ group, version, kind }) => `${group === '' ? '' : `${group}/`}${version} ${kind}` === name,
    );
    if (definition === undefined || OWN_TESTS.includes(object.kind)) return [];
    return [{ name, definition, body: withoutChoices(object) }];
  });
}

let server: TestApiServer;

beforeAll(async () => {
  server = await startApiServer();
  await send('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  // Creates of pods wait for this service account.
  await send('POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } });
});

afterAll(async () => {
  await server.stop();
});

type Answer = KubeObject & { readonly items: readonly KubeObject[] };

async function send(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': type } };
  const { code, json } = await callServer(server, method, path, sent);
  expect(code, `${method} ${path}: ${JSON.stringify(json)}`).toBeLessThan(300);
  return json as unknown as Answer;
}

const CASES = examples();

it('there is an example of every kind that clients create', () => {
  const known = new Set([...CASES.map(({ body }) => body.kind), ...OWN_TESTS]);
  const missing = resources.filter(
    ({ kind, verbs }) => !known.has(kind) && verbs.includes('create') && verbs.includes('delete'),
  );
  expect(
    missing.map(({ kind }) => kind),
    'kinds without an object: add one of each to FURTHER',
  ).toEqual([]);
});

it.each(CASES)('$name is created, listed, watched, patched, updated and deleted', async ({ definition, body }) => {
  const { group, version, resource, namespaced, subresources } = definition;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const own = namespaced ? `${root}/namespaces/${NAMESPACE}/${resource}` : `${root}/${resource}`;
  const selection = 'labelSelector=every%3Dkind';
  const metadata = { generateName: 'every-', labels: { every: 'kind' } };

  const created = await send('POST', own, { ...body, metadata });
  for (let more = 0; more < 2; more++) await send('POST', own, { ...body, metadata });
  const name = must(created.metadata.name, 'its name');
  const at = `${own}/${name}`;
  expect((await send('GET', at)).metadata.uid).toBe(created.metadata.uid);
  const list = await send('GET', `${own}?${selection}`);
  expect(list.items).toHaveLength(3);
  expect((await send('GET', `${root}/${resource}?${selection}`)).items).toHaveLength(3);

  const events = watchServer(server, `${own}?watch=true&${selection}&resourceVersion=${list.metadata.resourceVersion}`);
  const next = async () => must((await events.next()).value, 'an event');
  const patched = await send(
    'PATCH',
    at,
    { metadata: { annotations: { patched: 'yes' } } },
    'application/merge-patch+json',
  );
  expect(patched.metadata.annotations).toMatchObject({ patched: 'yes' });
  expect(await next()).toMatchObject({
    type: 'MODIFIED',
    object: { metadata: { name, annotations: { patched: 'yes' } } },
  });
  patched.metadata.annotations = { ...patched.metadata.annotations, updated: 'yes' };
  const updated = await send('PUT', at, patched);
  expect(updated.metadata.annotations).toMatchObject({ patched: 'yes', updated: 'yes' });
  expect(await next()).toMatchObject({ type: 'MODIFIED', object: { metadata: { annotations: { updated: 'yes' } } } });
  if (subresources.some((subresource) => subresource.name === 'status')) {
    expect((await send('GET', `${at}/status`)).metadata.uid).toBe(created.metadata.uid);
    const status = await send(
      'PATCH',
      `${at}/status`,
      { metadata: { annotations: { status: 'yes' } } },
      'application/merge-patch+json',
    );
    expect(status.metadata.uid).toBe(created.metadata.uid);
  }

  // Removes finalizers of Kubernetes, which a controller would remove.
  const free = async () => {
    for (const { metadata: left } of (await send('GET', `${own}?${selection}`)).items)
      if (left.finalizers !== undefined)
        await send('PATCH', `${own}/${left.name}`, { metadata: { finalizers: null } }, 'application/merge-patch+json');
  };
  const grace = 'gracePeriodSeconds=0';
  await send('DELETE', `${at}?${grace}`);
  await free();
  expect((await callServer(server, 'GET', at)).code).toBe(404);
  await send('DELETE', `${own}?${selection}&${grace}`);
  await free();
  expect((await send('GET', `${own}?${selection}`)).items).toEqual([]);
  for (let deleted = 0; deleted < 3; ) if ((await next()).type === 'DELETED') deleted++;
  await events.return(undefined);
});
