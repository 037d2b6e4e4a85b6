import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callServer } from '../../testing/call-server.ts';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const RULES = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

describe('policies on a server with custom resources and roles', () => {
  let server: TestApiServer;
  beforeAll(async () => {
    server = await startApiServer();
  });
  afterAll(() => server.stop());

  const call = async (method: string, path: string, body: object | undefined, headers: Record<string, string> = {}) => {
    const sent =
      body === undefined
        ? { headers }
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
    const { code, json } = await callServer(server, method, path, sent);
    return { code, body: json as Record<string, unknown> };
  };
  const policy = (name: string, spec: object) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [RULES] }, ...spec },
  });
  const binding = (policyName: string, spec: object) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: policyName },
    spec: { policyName, validationActions: ['Deny'], ...spec },
  });
  const configMap = (name: string, data: object, headers: Record<string, string> = {}) =>
    call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name }, data }, headers);

  it('take parameters of custom kinds', async () => {
    const group = 'limits.example.com';
    const made = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `caps.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'caps', singular: 'cap', kind: 'Cap', listKind: 'CapList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { most: { type: 'integer' } } } },
          },
        ],
      },
    });
    expect(made.code).toBe(201);
    const caps = `/apis/${group}/v1/namespaces/default/caps`;
    await expect.poll(async () => (await call('GET', caps, undefined)).code).toBe(200);
    const cap = { apiVersion: `${group}/v1`, kind: 'Cap', metadata: { name: 'cap' }, most: 1 };
    expect((await call('POST', caps, cap)).code).toBe(201);
    const spec = {
      paramKind: { apiVersion: `${group}/v1`, kind: 'Cap' },
      validations: [{ expression: '!has(object.data.capped) || size(object.data) <= params.most' }],
    };
    await call('POST', `${ADMISSION}/validatingadmissionpolicies`, policy('caps', spec));
    const paramRef = { name: 'cap', namespace: 'default', parameterNotFoundAction: 'Deny' };
    await call('POST', `${ADMISSION}/validatingadmissionpolicybindings`, binding('caps', { paramRef }));
    expect((await configMap('one', { capped: '' })).code).toBe(201);
    expect(await configMap('two', { capped: '', b: '' })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining("ValidatingAdmissionPolicy 'caps' with binding 'caps' denied request") },
    });
  });

  it('change custom objects, which keep nothing that they do not know', async () => {
    const mutation =
      "[JSONPatch{op: 'add', path: '/most', value: 7}, JSONPatch{op: 'add', path: '/unknown', value: 1}]";
    const resourceRules = [{ ...RULES, apiGroups: ['limits.example.com'], resources: ['caps'] }];
    const made = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'more' },
      spec: {
        reinvocationPolicy: 'Never',
        matchConstraints: { resourceRules },
        mutations: [
          { patchType: 'JSONPatch', jsonPatch: { expression: mutation } },
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: "Object{metadata: Object.metadata{labels: {'most': string(object.most)}}}",
            },
          },
        ],
      },
    };
    expect((await call('POST', `${ADMISSION}/mutatingadmissionpolicies`, made)).code).toBe(201);
    const bound = { ...binding('more', {}), kind: 'MutatingAdmissionPolicyBinding', spec: { policyName: 'more' } };
    expect((await call('POST', `${ADMISSION}/mutatingadmissionpolicybindings`, bound)).code).toBe(201);
    const cap = { apiVersion: 'limits.example.com/v1', kind: 'Cap', metadata: { name: 'more' }, most: 1 };
    const { code, body } = await call('POST', '/apis/limits.example.com/v1/namespaces/default/caps', cap);
    expect(code).toBe(201);
    expect(body).toMatchObject({ most: 7, metadata: { labels: { most: '7' } } });
    expect(body).not.toHaveProperty('unknown');
  });

  it('ask for rights on whatever there is, with the reason', async () => {
    const alice = { 'impersonate-user': 'alice' };
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }];
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'maker' }, rules });
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'maker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'maker' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
    });
    const validations = [
      "authorizer.group('').resource('configmaps').check('create').reason().startsWith('RBAC: allowed by ClusterRoleBinding')",
      "!authorizer.group('none.example').resource('things').subresource('part').check('get').allowed()",
      "!authorizer.path('/metrics').check('get').allowed()",
      "!authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').check('list').allowed()",
      "authorizer.serviceAccount('default', 'default').group('').resource('pods').check('get').errored() == false",
    ].map((expression) => ({ expression: `!has(object.data.asks) || ${expression}` }));
    await call('POST', `${ADMISSION}/validatingadmissionpolicies`, policy('rights', { validations }));
    await call('POST', `${ADMISSION}/validatingadmissionpolicybindings`, binding('rights', {}));
    await expect.poll(async () => (await configMap('asks', { asks: '' }, alice)).code).toBe(201);
  });

  it('may be bound to parameters by those alone who may read them', async () => {
    const rules = [{ apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] }];
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'author' }, rules });
    await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'author' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'author' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
    });
    const bob = { 'impersonate-user': 'bob' };
    const spec = { paramKind: { apiVersion: 'v1', kind: 'Secret' }, validations: [{ expression: 'true' }] };
    const policies = `${ADMISSION}/validatingadmissionpolicies`;
    await expect.poll(async () => (await call('GET', policies, undefined, bob)).code).toBe(200);
    const who = 'user &{bob  [system:authenticated] map[]}';
    expect(await call('POST', policies, policy('secrets', spec), bob)).toMatchObject({
      code: 422,
      body: {
        message: `ValidatingAdmissionPolicy.admissionregistration.k8s.io "secrets" is invalid: spec.paramKind: Forbidden: ${who} must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`,
      },
    });
    expect((await call('POST', policies, policy('secrets', spec))).code).toBe(201);
    const bound = binding('secrets', {
      paramRef: { name: 's', namespace: 'default', parameterNotFoundAction: 'Allow' },
    });
    const bindings = `${ADMISSION}/validatingadmissionpolicybindings`;
    expect(await call('POST', bindings, bound, bob)).toMatchObject({
      code: 422,
      body: {
        message: `ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io "secrets" is invalid: spec.paramRef: Forbidden: ${who} does not have "get" permission on the object referenced by paramRef`,
      },
    });
    expect((await call('POST', bindings, bound)).code).toBe(201);
  });
});
