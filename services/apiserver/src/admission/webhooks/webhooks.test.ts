import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callServer } from '../../testing/call-server.ts';
import { parseAuditPolicy } from '../../audit/index.ts';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';
import { startWebhooks, type WebhookAnswer, type WebhookServer } from '../../testing/webhook-server.ts';

const patch = (...operations: object[]) => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

const JSON_BODY = { 'content-type': 'application/json' };

describe('webhooks', () => {
  let server: TestApiServer;
  let hooks: WebhookServer;
  const late = Promise.withResolvers<WebhookAnswer>();
  /** The lines of the audit log. */
  const logged: string[] = [];

  beforeAll(async () => {
    const policy = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - { level: Request, resources: [{ group: '', resources: [configmaps] }] }
  - { level: Metadata }
`);
    server = await startApiServer({ audit: { policy, append: (line) => void logged.push(line) } });
    hooks = await startWebhooks({
      '/allow': () => ({ warnings: ['mind this'] }),
      '/deny': () => ({ allowed: false, status: { message: 'not today', code: 418, reason: 'Teapot' } }),
      '/silent': () => ({ allowed: false }),
      '/first': () => patch({ op: 'add', path: '/data/first', value: 'yes' }),
      '/base64': () => patch({ op: 'add', path: '/data/a', value: 'eWVz' }),
      '/second': () =>
        patch({ op: 'add', path: '/data/second', value: 'yes' }, { op: 'add', path: '/bogus', value: 1 }),
      '/older': () => patch({ op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 50 }),
      '/sidecar': () =>
        patch({ op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'side', image: 'x:1' } }),
      '/behavior': () => patch({ op: 'add', path: '/spec/behavior', value: { scaleUp: { policies: [] } } }),
      '/noting': () => ({ auditAnnotations: { note: 'seen' } }),
      '/broken': () => ({ code: 500, raw: 'oh no' }),
      '/other': () => ({ uid: 'x' }),
      '/slow': () => late.promise,
    });
  });
  afterAll(async () => {
    late.resolve({});
    hooks.close();
    await server.stop();
  });

  const call = async (method: string, path: string, body?: object) => {
    const options = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_BODY };
    const { code, headers, json } = await callServer(server, method, path, options);
    return { code, warnings: [headers['warning'] ?? ''].flat(), body: json as Record<string, unknown> };
  };
  /** Runs `work` with these webhooks. */
  async function withHooks<T>(type: 'validating' | 'mutating', list: object[], work: () => Promise<T>): Promise<T> {
    const base = `/apis/admissionregistration.k8s.io/v1/${type}webhookconfigurations`;
    const kind = `${type === 'validating' ? 'Validating' : 'Mutating'}WebhookConfiguration`;
    const made = await call('POST', base, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: 'w' },
      webhooks: list,
    });
    expect(made.code).toBe(201);
    try {
      return await work();
    } finally {
      expect((await call('DELETE', `${base}/w`)).code).toBe(200);
    }
  }
  const hook = (path: string, extra: object = {}) => hooks.webhook(path, extra);
  const path = '/api/v1/namespaces/default/configmaps';
  let names = 0;
  const configMap = () => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c${++names}` },
    data: { own: 'x' },
  });
  const create = (query = '') => call('POST', `${path}${query}`, configMap());

  it('are called about streams to containers first', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const container = { name: 'c', image: 'i', stdin: true };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
    await call('POST', '/api/v1/namespaces/default/serviceaccounts', account);
    await call('POST', pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [container] },
    });
    const rules = [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/attach'] }];
    hooks.asked.length = 0;
    const denied = await withHooks('validating', [hook('/deny', { rules })], () =>
      call('POST', `${pods}/p/attach?stdin=true&container=c`),
    );
    expect(denied).toMatchObject({ code: 418, body: { message: expect.stringContaining('deny.example.org') } });
    expect(hooks.asked[0]?.review.request).toMatchObject({
      operation: 'CONNECT',
      name: 'p',
      subResource: 'attach',
      kind: { group: '', version: 'v1', kind: 'PodAttachOptions' },
      object: { kind: 'PodAttachOptions', apiVersion: 'v1', stdin: true, container: 'c' },
      oldObject: null,
      options: null,
    });
    const allowed = await withHooks('validating', [hook('/allow', { rules })], () => call('GET', `${pods}/p/attach`));
    expect(allowed).toMatchObject({ code: 400, body: { message: 'pod p does not have a host assigned' } });
  });

  it('ask about questions too', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };
    hooks.asked.length = 0;
    const denied = await withHooks('validating', [hook('/deny', { rules })], () => call('POST', reviews, review));
    expect(denied.code).toBe(418);
    // The loops of the server also write.
    const kinds = hooks.asked.map(({ review: { request } }) => request['kind']);
    expect(kinds).toContainEqual(expect.objectContaining({ kind: 'SelfSubjectAccessReview' }));
  });

  it('leave their patches in the audit log where it shows bodies, and what has changed in any case', async () => {
    const rules = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps', 'secrets'] }];
    const annotations = async (resource: string) => {
      logged.length = 0;
      const made = await call('POST', `/api/v1/namespaces/default/${resource}`, {
        metadata: { name: `patched-${resource}` },
        data: { own: 'eA==' },
      });
      expect(made.code).toBe(201);
      const events = logged.map((line) => JSON.parse(line) as { stage: string; objectRef?: { resource: string } });
      const last = events.findLast(
        ({ stage, objectRef }) => stage === 'ResponseComplete' && objectRef?.resource === resource,
      ) as { annotations?: Record<string, string> } | undefined;
      const at = 'webhook.admission.k8s.io/round_0_index_0';
      return { patch: last?.annotations?.[`patch.${at}`], mutation: last?.annotations?.[`mutation.${at}`] };
    };
    const base64 = hook('/base64', { rules });
    const mutation = '{"configuration":"w","webhook":"base64.example.org","mutated":true}';
    expect(await withHooks('mutating', [base64], () => annotations('configmaps'))).toEqual({
      patch:
        '{"configuration":"w","webhook":"base64.example.org","patch":[{"op":"add","path":"/data/a","value":"eWVz"}],"patchType":"JSONPatch"}',
      mutation,
    });
    expect(await withHooks('mutating', [base64], () => annotations('secrets'))).toEqual({ mutation });
  });

  it('leave annotations of their own in the audit log, and that one was not asked', async () => {
    const hidden = [hook('/noting'), hook('/broken', { failurePolicy: 'Ignore' })];
    const annotationsOf = async (type: 'validating' | 'mutating') => {
      logged.length = 0;
      const { code } = await withHooks(type, hidden, () => create());
      expect(code).toBe(201);
      const events = logged.map((line) => JSON.parse(line) as { annotations?: object; objectRef?: { name: string } });
      return events.find(({ annotations, objectRef }) => annotations && objectRef?.name === `c${names}`)?.annotations;
    };
    const note = { 'noting.example.org/note': 'seen' };
    const at = 'webhook.admission.k8s.io/round_0_index_1';
    expect(await annotationsOf('validating')).toMatchObject({
      ...note,
      [`failed-open.validating.${at}`]: 'broken.example.org',
    });
    expect(await annotationsOf('mutating')).toMatchObject({
      ...note,
      [`failed-open.mutation.${at}`]: 'broken.example.org',
    });
  });

  it('ask what is admitted, and pass on warnings', async () => {
    hooks.asked.length = 0;
    const { code, warnings } = await withHooks('validating', [hook('/allow')], () => create());
    expect(code).toBe(201);
    expect(warnings.join()).toContain('mind this');
    const [{ query, review } = { query: '', review: undefined }] = hooks.asked;
    expect(query).toBe('timeout=10s');
    expect(review?.request).toMatchObject({
      operation: 'CREATE',
      namespace: 'default',
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      userInfo: { username: 'kubernetes-admin' },
      dryRun: false,
      oldObject: null,
    });
    expect(review?.request['options']).toEqual({ kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' });
    hooks.asked.length = 0;
    await withHooks('validating', [hook('/allow')], () => create('?fieldManager=me&fieldValidation=Strict&dryRun=All'));
    expect(hooks.asked[0]?.review.request['options']).toEqual({
      kind: 'CreateOptions',
      apiVersion: 'meta.k8s.io/v1',
      dryRun: ['All'],
      fieldManager: 'me',
      fieldValidation: 'Strict',
    });
  });

  it('refuse in their own words', async () => {
    const denied = await withHooks('validating', [hook('/deny')], () => create());
    expect(denied).toMatchObject({
      code: 418,
      body: { reason: 'Teapot', message: 'admission webhook "deny.example.org" denied the request: not today' },
    });
    const silent = await withHooks('validating', [hook('/silent')], () => create());
    expect(silent).toMatchObject({
      code: 400,
      body: { message: 'admission webhook "silent.example.org" denied the request without explanation' },
    });
  });

  it('change what is admitted, each seeing what the ones before did; unknown fields are dropped', async () => {
    hooks.asked.length = 0;
    const list = [hook('/first', { reinvocationPolicy: 'IfNeeded' }), hook('/second')];
    const { code, body } = await withHooks('mutating', list, () => create());
    expect(code).toBe(201);
    expect(body).toMatchObject({ data: { own: 'x', first: 'yes', second: 'yes' } });
    expect(body).not.toHaveProperty('bogus');
    expect(hooks.asked.map((one) => one.path)).toEqual(['/first', '/second', '/first']);
    expect(hooks.asked[1]?.review.request['object']).toMatchObject({ data: { first: 'yes' } });
  });

  const ruleFor = (apiGroup: string, version: string, resource: string) => ({
    rules: [{ operations: ['*'], apiGroups: [apiGroup], apiVersions: [version], resources: [resource] }],
  });

  const metric = (name: string, averageUtilization: number) => ({
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  });
  const createAutoscaler = (name: string) =>
    call('POST', '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', {
      ...{ apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name } },
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
        ...{ maxReplicas: 3, metrics: [metric('memory', 70), metric('cpu', 80)] },
      },
    });

  it('change an object in the version that they ask for', async () => {
    const list = [hook('/older', ruleFor('autoscaling', 'v1', 'horizontalpodautoscalers'))];
    const { code, body } = await withHooks('mutating', list, () => createAutoscaler('a'));
    expect(code).toBe(201);
    // In v1, metrics other than that of the CPU are an annotation.
    expect(body).toMatchObject({
      spec: { metrics: expect.arrayContaining([metric('memory', 70), metric('cpu', 50)]) },
    });
  });

  it('see no empty lists of the ones before, as the API shows none', async () => {
    hooks.asked.length = 0;
    const rule = ruleFor('autoscaling', 'v2', 'horizontalpodautoscalers');
    const list = [hook('/behavior', rule), hook('/allow', rule)];
    // The rules of the kind require a policy.
    expect(await withHooks('mutating', list, () => createAutoscaler('b'))).toMatchObject({ code: 422 });
    const seen = hooks.asked[1]?.review.request['object'];
    expect(seen).toHaveProperty('spec.behavior.scaleUp.selectPolicy', 'Max');
    expect(seen).not.toHaveProperty('spec.behavior.scaleUp.policies');
  });

  it('see changes of the ones before with defaults', async () => {
    hooks.asked.length = 0;
    const labels = { app: 'a' };
    const rule = ruleFor('apps', 'v1', 'deployments');
    const { code } = await withHooks('mutating', [hook('/sidecar', rule), hook('/allow', rule)], () =>
      call('POST', '/apis/apps/v1/namespaces/default/deployments', {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x:1' }] } },
        },
      }),
    );
    expect(code).toBe(201);
    const seen = hooks.asked[1]?.review.request['object'];
    expect(seen).toMatchObject({
      spec: { template: { spec: { containers: [{ name: 'c' }, { name: 'side', imagePullPolicy: 'IfNotPresent' }] } } },
    });
  });

  it('get only the old object for deletions', async () => {
    const name = `c${names + 1}`;
    await create();
    hooks.asked.length = 0;
    await withHooks('validating', [hook('/allow')], () => call('DELETE', `${path}/${name}`));
    expect(hooks.asked[0]?.review.request).toMatchObject({
      operation: 'DELETE',
      object: null,
      oldObject: { metadata: { name } },
    });
  });

  it('stop what they cannot be asked about, unless they may be ignored', async () => {
    const failing: readonly [string, object, RegExp][] = [
      ['/broken', {}, /failed to call webhook: an error on the server \("oh no"\) has prevented the request/],
      ['/other', {}, /received invalid webhook response: expected response\.uid="[^"]+", got "x"/],
      ['/slow', { timeoutSeconds: 1 }, /Post "https:[^"]+\/slow\?timeout=1s": context deadline exceeded/],
      [
        '/allow',
        { clientConfig: { url: 'https://127.0.0.1:1/' } },
        /dial tcp 127\.0\.0\.1:1: connect: connection refused/,
      ],
      [
        '/allow',
        { clientConfig: { url: `https://127.0.0.1:${hooks.port}/allow` } },
        /x509: certificate signed by unknown authority/,
      ],
      [
        '/allow',
        { clientConfig: { service: { namespace: 'n', name: 'none' } } },
        /Post "https:\/\/none\.n\.svc:443\?timeout=10s": service "none" not found/,
      ],
    ];
    for (const [at, extra, message] of failing) {
      const failed = await withHooks('validating', [hook(at, extra)], () => create());
      expect(failed.code).toBe(500);
      expect(String(failed.body['message'])).toMatch(/^Internal error occurred: failed calling webhook "/);
      expect(String(failed.body['message'])).toMatch(message);
      const ignored = await withHooks('validating', [hook(at, { ...extra, failurePolicy: 'Ignore' })], () => create());
      expect(ignored.code).toBe(201);
    }
  });

  it('are found by the name that a service stands for, and must prove to be that service', async () => {
    await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } });
    const made = await call('POST', '/api/v1/namespaces/n/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'hook' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    expect(made.code).toBe(201);
    const service = { namespace: 'n', name: 'hook', path: '/deny', port: hooks.port };
    const byService = hook('/deny', { clientConfig: { service, caBundle: hooks.caBundle } });
    const { body } = await withHooks('validating', [byService], () => create());
    expect(String(body['message'])).toContain('denied the request: not today');
  });

  it('are asked only about what they name', async () => {
    const deny = (extra: object) => withHooks('validating', [hook('/deny', extra)], () => create());
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };
    expect((await deny({ rules: [{ ...rule, operations: ['DELETE'] }] })).code).toBe(201);
    expect((await deny({ rules: [{ ...rule, scope: 'Cluster' }] })).code).toBe(201);
    expect((await deny({ objectSelector: { matchLabels: { a: 'b' } } })).code).toBe(201);
    expect((await deny({ namespaceSelector: { matchLabels: { a: 'b' } } })).code).toBe(201);
    const name = { 'kubernetes.io/metadata.name': 'default' };
    expect((await deny({ namespaceSelector: { matchLabels: name } })).code).toBe(418);
  });

  it.each(['validating', 'mutating'] as const)('%s ones are asked where all their conditions hold', async (type) => {
    const asked = (...expressions: string[]) => {
      const matchConditions = expressions.map((expression, index) => ({ name: `c${index}`, expression }));
      return withHooks(type, [hook('/deny', { matchConditions })], () => create());
    };
    const isConfigMap = 'request.resource.resource == "configmaps"';
    expect((await asked(isConfigMap)).code).toBe(418);
    expect((await asked(isConfigMap, '!("system:masters" in request.userInfo.groups)')).code).toBe(201);
    expect((await asked('object.metadata.name.startsWith("skip")')).code).toBe(201);
  });
});
