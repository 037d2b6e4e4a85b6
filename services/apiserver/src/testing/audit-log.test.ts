import { request as httpsRequest } from 'node:https';
import { createGrpcClient } from '@gantry/client';
import { CONFIG_MAPS } from '@gantry/objects';
import { fixedTls, type TlsMaterial } from '@gantry/tls';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { parseAuditPolicy } from '../audit/index.ts';
import { createFastClock } from './fast-clock.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

interface Event {
  readonly stage: string;
  readonly verb: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

let server: TestApiServer;
let events: Event[] = [];

beforeAll(async () => {
  const policy = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - level: RequestResponse
    namespaces: [whole]
  - level: Metadata
    omitStages: [RequestReceived]
    userGroups: [system:masters, system:unauthenticated]
    verbs: [create, update, patch, delete, watch]
  - level: Metadata
    users: ['', ann]
`);
  server = await startApiServer({
    clock: createFastClock(),
    audit: {
      policy,
      append: (line) => {
        expect(line).not.toContain('\n');
        events.push(JSON.parse(line) as Event);
      },
    },
  });
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'whole' } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

beforeEach(() => {
  events = [];
});

/** Sends a request and reads the whole response. The user is the administrator unless `headers` name another. */
function send(
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
  identity?: TlsMaterial,
): Promise<{ readonly code: number; readonly auditId: unknown }> {
  const { cert, key, ca } = identity ?? server.admin;
  const credentials = 'authorization' in headers ? {} : { cert, key };
  return new Promise((resolve, reject) => {
    const req = httpsRequest(
      `${server.url}${path}`,
      {
        method,
        ca,
        ...credentials,
        headers: { 'content-type': 'application/json', 'user-agent': 'test/1', ...headers },
      },
      (res) => {
        res.resume().on('end', () => resolve({ code: res.statusCode ?? 0, auditId: res.headers['audit-id'] }));
      },
    );
    req.on('error', reject);
    req.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

it('logs who wrote what and how it ended, without bodies, at the level Metadata', async () => {
  const { auditId } = await send('POST', '/api/v1/namespaces/default/secrets?fieldManager=me', {
    metadata: { name: 'password' },
    stringData: { word: 'the-marker' },
  });
  expect(events).toEqual([
    {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: auditId,
      stage: 'ResponseComplete',
      requestURI: '/api/v1/namespaces/default/secrets?fieldManager=me',
      verb: 'create',
      user: expect.objectContaining({ username: 'kubernetes-admin' }) as unknown,
      sourceIPs: ['127.0.0.1'],
      userAgent: 'test/1',
      objectRef: {
        resource: 'secrets',
        namespace: 'default',
        name: 'password',
        uid: expect.any(String) as unknown,
        apiVersion: 'v1',
      },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) as unknown,
      stageTimestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) as unknown,
      annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
    },
  ]);
  expect(JSON.stringify(events)).not.toContain('the-marker');
});

it('shows why a request failed', async () => {
  await send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'Not A Name' } });
  expect(events).toMatchObject([
    { responseStatus: { status: 'Failure', reason: 'Invalid', code: 422 }, objectRef: { name: 'Not A Name' } },
  ]);
});

it('shows whom a request acts as, and that it was forbidden', async () => {
  await send('DELETE', '/api/v1/namespaces/whole/configmaps/a', undefined, {
    'impersonate-user': 'ann',
    'impersonate-group': 'devs',
  });
  expect(events.at(-1)).toMatchObject({
    user: { username: 'kubernetes-admin' },
    impersonatedUser: { username: 'ann' },
    responseStatus: { reason: 'Forbidden', code: 403 },
    annotations: { 'authorization.k8s.io/decision': 'forbid' },
  });
});

it('names who wanted to act as another and may not', async () => {
  const ann = await server.pki.issue('ann', []);
  const path = '/api/v1/namespaces/default/pods/a';
  const { code } = await send('DELETE', path, undefined, { 'impersonate-user': 'kubernetes-admin' }, ann);
  expect(code).toBe(403);
  expect(events.at(-1)).toMatchObject({ user: { username: 'ann' }, verb: 'delete', responseStatus: { code: 403 } });
});

it('logs a request whose sender is not known', async () => {
  const { code } = await send('DELETE', '/api/v1/namespaces/default/pods/a', undefined, { authorization: 'Bearer no' });
  expect(code).toBe(401);
  expect(events.at(-1)).toMatchObject({ user: { username: '' }, verb: 'delete', responseStatus: { code: 401 } });
});

it('keeps bodies at the level RequestResponse, and names each stage', async () => {
  await send('POST', '/api/v1/namespaces/whole/configmaps', { metadata: { name: 'a' }, data: { k: 'v' } });
  expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseComplete']);
  expect(events[1]).toMatchObject({
    requestObject: { metadata: { name: 'a' }, data: { k: 'v' } },
    responseObject: {
      kind: 'ConfigMap',
      metadata: { namespace: 'whole', resourceVersion: expect.any(String) as unknown },
    },
  });
  events = [];
  const patch = { 'content-type': 'application/merge-patch+json' };
  await send('PATCH', '/api/v1/namespaces/whole/configmaps/a', { data: { k: 'w' } }, patch);
  expect(events[1]).toMatchObject({ verb: 'patch', requestObject: { data: { k: 'w' } } });
  events = [];
  await send('GET', '/api/v1/namespaces/whole/configmaps');
  expect(events[1]).toMatchObject({ verb: 'list', responseObject: { kind: 'ConfigMapList' } });
});

it('keeps lists that are sent in parts, up to a mebibyte', async () => {
  const path = '/api/v1/namespaces/whole/secrets';
  const add = (name: string) =>
    send('POST', path, { metadata: { name }, stringData: { large: 'x'.repeat(200_000) }, type: 'Opaque' });
  const listed = async (headers: Record<string, string> = {}) => {
    events = [];
    await send('GET', path, undefined, headers);
    return events.at(-1) as { responseObject?: { items: object[] }; annotations: Record<string, string> } | undefined;
  };
  for (const name of ['a', 'b']) await add(name);
  expect((await listed())?.responseObject?.items).toHaveLength(2);
  expect((await listed({ 'accept-encoding': 'gzip' }))?.responseObject?.items).toHaveLength(2);
  for (const name of ['c', 'd']) await add(name);
  const tooLarge = await listed();
  expect(tooLarge?.responseObject).toBeUndefined();
  expect(tooLarge?.annotations['audit.gantry.dev/omitted']).toMatch(/^response: \d{7} bytes$/);
});

it.each<[string, object]>([
  ['application/json-patch+json', [{ op: 'add', path: '/data', value: { k: 'x' } }]],
  ['application/strategic-merge-patch+json', { data: { k: 'x' } }],
  ['application/apply-patch+yaml', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'x' } }],
])('keeps a patch of the type %s as it was sent', async (type, patch) => {
  const path = '/api/v1/namespaces/whole/configmaps';
  await send('POST', path, { metadata: { name: 'a' } });
  events = [];
  await send('PATCH', `${path}/a?fieldManager=ann${type.includes('apply') ? '&force=true' : ''}`, patch, {
    'content-type': type,
  });
  expect(events.at(-1)).toMatchObject({ verb: 'patch', requestObject: patch });
});

it('logs the beginning of a watch and its end', async () => {
  await send('GET', '/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=20');
  expect(events.map(({ stage, verb }) => `${verb} ${stage}`)).toEqual([
    'watch ResponseStarted',
    'watch ResponseComplete',
  ]);
});

it('shows the annotations of policies, and what a policy found that only audits', async () => {
  const group = '/apis/admissionregistration.k8s.io/v1';
  await send('POST', `${group}/validatingadmissionpolicies`, {
    metadata: { name: 'small' },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      validations: [{ expression: 'true' }, { expression: 'size(object.data) < 2', message: 'too many keys' }],
      auditAnnotations: [{ key: 'keys', valueExpression: 'string(size(object.data))' }],
    },
  });
  await send('POST', `${group}/validatingadmissionpolicybindings`, {
    metadata: { name: 'everywhere' },
    spec: { policyName: 'small', validationActions: ['Audit'] },
  });
  await send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'two' }, data: { a: '1', b: '2' } });
  const failure = {
    message: 'too many keys',
    policy: 'small',
    binding: 'everywhere',
    expressionIndex: 1,
    validationActions: ['Audit'],
  };
  expect(events.at(-1)?.['responseStatus']).toMatchObject({ code: 201 });
  expect(events.at(-1)?.['annotations']).toMatchObject({
    'small/keys': '2',
    'validation.policy.admission.k8s.io/validation_failure': JSON.stringify([failure]),
  });
});

it('shows what Pod Security enforced, what is below the audited level, and what is exempt', async () => {
  const level = (mode: string) => `pod-security.kubernetes.io/${mode}`;
  const labels = { [level('enforce')]: 'baseline', [level('audit')]: 'restricted', [level('warn')]: 'privileged' };
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'judged', labels } });
  await send('POST', '/api/v1/namespaces/judged/serviceaccounts', { metadata: { name: 'default' } });
  const annotations = async (resource: string, body: object) => {
    events = [];
    await send('POST', `/api/v1/namespaces/judged/${resource}`, body);
    const all = (events.at(-1)?.['annotations'] ?? {}) as Record<string, string>;
    return Object.fromEntries(Object.entries(all).filter(([key]) => key.startsWith('pod-security')));
  };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  const audited = {
    [level('audit-violations')]: expect.stringMatching(
      /^would violate PodSecurity "restricted:latest": .*allowPrivilegeEscalation != false/,
    ) as string,
  };
  const enforced = { [level('enforce-policy')]: 'baseline:latest' };
  expect(await annotations('pods', { metadata: { name: 'a' }, spec })).toEqual({ ...enforced, ...audited });
  const refused = { metadata: { name: 'b' }, spec: { ...spec, hostPID: true } };
  expect(await annotations('pods', refused)).toEqual({ ...enforced, ...audited });
  expect(events.at(-1)?.['responseStatus']).toMatchObject({ code: 403 });
  expect(await annotations('podtemplates', { metadata: { name: 't' }, template: { spec } })).toEqual(audited);
  expect(await annotations('configmaps', { metadata: { name: 'c' } })).toEqual({});
  await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  await send('POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'a' }, spec });
  expect(events.at(-1)?.['annotations']).toMatchObject({ [level('enforce-policy')]: 'privileged:latest' });
});

it('logs the writes of services over gRPC', async () => {
  using client = createGrpcClient({
    addresses: [`localhost:${server.grpcPort}`],
    tls: fixedTls(server.admin),
    fieldManager: 'test',
  });
  const metadata = { name: 'kube-root-ca.crt', namespace: 'default' };
  await client.create(
    CONFIG_MAPS,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { k: 'v' } },
    AbortSignal.timeout(60_000),
  );
  const written = events.filter(({ stage }) => stage === 'ResponseComplete');
  expect(written).toMatchObject([
    {
      verb: 'create',
      requestURI: '/api/v1/namespaces/default/configmaps',
      user: { username: 'kubernetes-admin' },
      objectRef: { resource: 'configmaps', name: 'kube-root-ca.crt' },
      responseStatus: { code: 201 },
    },
  ]);
});
