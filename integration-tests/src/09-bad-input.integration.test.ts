import { CONFIG_MAPS, DEPLOYMENTS, type KubeObject, type Status, StatusError } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { testSeed } from '@gantry/base/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster, nginxDeployment } from './harness/cluster.ts';
import { mutate } from './harness/mutations.ts';

const cluster = new Cluster();
let namespace = '';

beforeAll(async () => {
  namespace = (await cluster.namespace()).name;
  await cluster.create(DEPLOYMENTS, namespace, nginxDeployment('there', 0));
});
afterAll(async () => {
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

async function refusal({ method = 'POST', path, body, contentType = 'application/json' }: Request): Promise<Status> {
  const request = {
    method,
    path: path.replace('{ns}', namespace),
    contentType,
    ...(body === undefined ? {} : { body }),
  };
  try {
    await cluster.api.raw(request, AbortSignal.timeout(60_000));
  } catch (error) {
    if (error instanceof StatusError) return error.toStatus();
    throw error;
  }
  throw new Error(`${method} ${path} was not refused`);
}

const DEPLOYMENTS_PATH = '/apis/apps/v1/namespaces/{ns}/deployments';
const deployment = (change: (object: ReturnType<typeof nginxDeployment>) => void) => {
  const object = structuredClone(nginxDeployment('bad', 1));
  change(object);
  return JSON.stringify(object);
};

const CASES: readonly [string, Request, number, string, RegExp][] = [
  ['malformed JSON', { path: DEPLOYMENTS_PATH, body: '{"kind":' }, 400, 'BadRequest', /.+/],
  [
    'malformed YAML',
    { path: DEPLOYMENTS_PATH, body: 'kind: [', contentType: 'application/yaml' },
    400,
    'BadRequest',
    /yaml/,
  ],
  [
    'an unknown resource',
    { method: 'GET', path: '/apis/apps/v1/things' },
    404,
    'NotFound',
    /could not find the requested resource/,
  ],
  [
    'an unknown group',
    { method: 'GET', path: '/apis/nothing.example/v1/things' },
    404,
    'NotFound',
    /^404 page not found$/,
  ],
  [
    'a kind of another resource',
    { path: DEPLOYMENTS_PATH, body: '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}' },
    400,
    'BadRequest',
    /does not match the expected API version|cannot be handled as a Deployment/,
  ],
  [
    'an unknown field, strictly',
    {
      path: `${DEPLOYMENTS_PATH}?fieldValidation=Strict`,
      body: deployment((object) => Object.assign(object.spec ?? {}, { replicaz: 1 })),
    },
    400,
    'BadRequest',
    /strict decoding error: unknown field "spec\.replicaz"/,
  ],
  [
    'a wrong type',
    { path: DEPLOYMENTS_PATH, body: deployment((object) => Object.assign(object.spec ?? {}, { replicas: 'two' })) },
    400,
    'BadRequest',
    /cannot unmarshal string into Go struct field|replicas/,
  ],
  [
    'an invalid name',
    { path: DEPLOYMENTS_PATH, body: deployment((object) => Object.assign(object.metadata, { name: 'Not_A_Name' })) },
    422,
    'Invalid',
    /metadata\.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 subdomain/,
  ],
  [
    'negative replicas',
    { path: DEPLOYMENTS_PATH, body: deployment((object) => Object.assign(object.spec ?? {}, { replicas: -1 })) },
    422,
    'Invalid',
    /spec\.replicas: Invalid value: -1: must be greater than or equal to 0/,
  ],
  [
    'a selector that does not match the template',
    {
      path: DEPLOYMENTS_PATH,
      body: deployment((object) => Object.assign(object.spec ?? {}, { selector: { matchLabels: { app: 'other' } } })),
    },
    422,
    'Invalid',
    /`selector` does not match template `labels`/,
  ],
  [
    'an object of 3 MB',
    {
      path: '/api/v1/namespaces/{ns}/configmaps',
      body: JSON.stringify({
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: 'big' },
        data: { a: 'x'.repeat(3_200_000) },
      }),
    },
    413,
    'RequestEntityTooLarge',
    /limit is 3145728/,
  ],
  [
    'a bad patch',
    {
      method: 'PATCH',
      path: `${DEPLOYMENTS_PATH}/there`,
      body: '[{"op":"replace","path":"/spec/nothing/here","value":1}]',
      contentType: 'application/json-patch+json',
    },
    422,
    'Invalid',
    /the server rejected our request due to an error in our request/,
  ],
  [
    'a patch of an unknown type',
    { method: 'PATCH', path: `${DEPLOYMENTS_PATH}/there`, body: '{}', contentType: 'application/json' },
    415,
    'UnsupportedMediaType',
    /^415: Unsupported Media Type$/,
  ],
  [
    'a stale resourceVersion',
    {
      method: 'PUT',
      path: `${DEPLOYMENTS_PATH}/there`,
      body: JSON.stringify({
        ...nginxDeployment('there', 0),
        metadata: { name: 'there', labels: { app: 'there' }, resourceVersion: '300' },
      }),
    },
    409,
    'Conflict',
    /Operation cannot be fulfilled on deployments\.apps "there": the object has been modified/,
  ],
];

test.each(CASES)('%s is refused as Kubernetes does', async (_, request, code, reason, message) => {
  const status = await refusal(request);
  expect(status).toMatchObject({ kind: 'Status', status: 'Failure', code, reason });
  expect(status.message).toMatch(message);
});

const VALID: readonly [string, KubeObject][] = [
  [`${DEPLOYMENTS_PATH}?dryRun=All`, nginxDeployment('m', 1)],
  [
    '/api/v1/namespaces/{ns}/pods?dryRun=All',
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'm', labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: {
        restartPolicy: 'Always',
        tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3 }],
        containers: [
          {
            name: 'c',
            image: 'busybox',
            command: ['sleep', '1'],
            env: [{ name: 'A', value: 'b' }],
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '1' } },
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          },
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    } as KubeObject,
  ],
  [
    '/api/v1/namespaces/{ns}/services?dryRun=All',
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'm' },
      spec: { selector: { a: 'b' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }], type: 'NodePort' },
    } as KubeObject,
  ],
  [
    '/api/v1/namespaces/{ns}/configmaps?dryRun=All',
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm' },
      data: { a: 'b' },
      binaryData: { c: 'ZA==' },
    } as KubeObject,
  ],
];
const MUTATIONS = 2_000;
const PARALLEL = 16;

test('2,000 mutations of valid objects give no 5xx and stop no apiserver', async () => {
  const random = seededRandom(testSeed('mutations', 20_261_121));
  const starts = async () =>
    Promise.all(
      (await cluster.containers('apiserver')).map(({ id }) =>
        cluster.docker(['inspect', '-f', '{{.State.StartedAt}}', id]),
      ),
    );
  const before = await starts();
  const work = Array.from({ length: MUTATIONS }, (_, i) => {
    const [path, valid] = VALID[i % VALID.length] ?? ['', {} as KubeObject];
    return { path, body: JSON.stringify(mutate(random, valid)) };
  });
  const failures: string[] = [];
  const workers = Array.from({ length: PARALLEL }, async () => {
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      const request = { method: 'POST', path: next.path.replace('{ns}', namespace), body: next.body } as const;
      try {
        await cluster.api.raw({ ...request, contentType: 'application/json' }, AbortSignal.timeout(60_000));
      } catch (error) {
        const code = error instanceof StatusError ? error.code : 0;
        if (code < 400 || code >= 500) failures.push(`${String(error)} for ${next.body.slice(0, 500)}`);
      }
    }
  });
  await Promise.all(workers);
  expect(failures).toEqual([]);
  expect(await starts()).toEqual(before);
  expect(await cluster.list(CONFIG_MAPS, namespace)).toBeDefined();
});
