import { Agent } from 'node:http';
import { DEPLOYMENTS, type Ingress, INGRESSES, SERVICES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueServerIdentity, type ServerIdentity } from './harness/test-pki.ts';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { echoDeployment, IngressClient } from './harness/ingress-client.ts';

const cluster = new Cluster();
const client = new IngressClient(cluster);
type Namespace = Awaited<ReturnType<Cluster['namespace']>>;
let namespace: Namespace;
let other: Namespace;
/** Hosts of this run. */
let host: string;

const inNamespace = (...args: readonly string[]) => cluster.mustKubectl([...args, '-n', namespace.name]);
const SOON_MS = 120_000;

async function createIngress(name: string, spec: NonNullable<Ingress['spec']>, into = namespace): Promise<void> {
  await cluster.create(INGRESSES, into.name, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name },
    spec,
  });
}

const web = (port: { readonly number?: number; readonly name?: string }) => ({ service: { name: 'web', port } });

async function portAt(asked: string, path: string, timeoutMs?: number): Promise<number> {
  const { status, text } = await client.ask(asked, path, {}, timeoutMs === undefined ? {} : { timeoutMs });
  return status === 200 ? (JSON.parse(text) as { port: number }).port : status;
}

const becomes = (asked: string, path: string, expected: number) =>
  eventually(
    `${asked}${path} leads to ${expected}`,
    SOON_MS,
    async () => (await portAt(asked, path, 3000)) === expected,
  );

/** An Event with this reason is in the namespace. */
const reported = (within: Namespace, reason: string) =>
  eventually(`${reason} is reported`, SOON_MS, async () => {
    const command = ['get', 'events', `--field-selector=reason=${reason}`, '-o', 'name', '-n', within.name];
    return (await cluster.mustKubectl(command)) !== '';
  });

beforeAll(async () => {
  [namespace, other] = [await cluster.namespace(), await cluster.namespace()];
  host = `${namespace.name}.example`;
  // Older than every Ingress of the other namespace.
  const rules = [{ host: `early.${other.name}.example` }];
  await createIngress('early', { rules }, other);
  const [proxy] = await cluster.containers('proxy');
  const image = await cluster.docker(['inspect', '-f', '{{.Config.Image}}', proxy?.id ?? '']);
  await cluster.create(DEPLOYMENTS, namespace.name, echoDeployment('web', image));
  const ports = [
    { name: 'http', port: 80, targetPort: 8080 },
    { name: 'second', port: 81, targetPort: 8081 },
  ];
  const spec = { selector: { app: 'web' }, ports };
  await cluster.create(SERVICES, namespace.name, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec,
  });
  await inNamespace('create', 'ingress', 'first', `--rule=${host}/*=web:http`, `--rule=${host}/second*=web:81`);
  await createIngress('paths', {
    rules: [
      {
        host: `*.${host}`,
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: web({ number: 80 }) },
            { path: '/a/b', pathType: 'Prefix', backend: web({ name: 'second' }) },
            { path: '/a', pathType: 'Exact', backend: web({ number: 81 }) },
            { path: '/gone', pathType: 'Prefix', backend: web({ number: 82 }) },
          ],
        },
      },
      { host: `own.${host}`, http: { paths: [{ path: '/only', pathType: 'Exact', backend: web({ number: 81 }) }] } },
    ],
  });
  await cluster.untilRolledOut(namespace.name, 'web');
  await becomes(host, '/', 8080);
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

test('an Ingress without a class gets the shipped one, and shows where it is reached', async () => {
  // Routes are served before the status is written.
  const { spec, status } = await eventually('the Ingress has an address', SOON_MS, async () => {
    const found = await cluster.get(INGRESSES, namespace.name, 'first');
    return found.status?.loadBalancer?.ingress === undefined ? undefined : found;
  });
  expect(spec?.ingressClassName).toBe('gantry');
  const ports = [client.httpPort, client.httpsPort].map((port) => ({ port, protocol: 'TCP' }));
  expect(status?.loadBalancer?.ingress).toEqual([{ ip: '127.0.0.1', ports }]);
  expect(await inNamespace('get', 'ingress', 'first')).toMatch(/gantry +\S+ +127\.0\.0\.1 +80/);
});

test('hosts and paths lead where Kubernetes says: the most specific host, an exact path, the longest prefix', async () => {
  await becomes(`x.${host}`, '/a', 8081);
  const cases: readonly (readonly [asked: string, path: string, expected: number])[] = [
    [host, '/second', 8081],
    [host, '/second/deep?query=1', 8081],
    [host, '/secondary', 8080],
    [`${host.toUpperCase()}:8080`, '/', 8080],
    [`x.${host}`, '/a/', 8080],
    [`x.${host}`, '/a/b', 8081],
    [`x.${host}`, '/a/bc', 8080],
    [`x.${host}`, '/gone/x', 503],
    [`own.${host}`, '/only', 8081],
    [`own.${host}`, '/only/', 8080],
    [`x.y.${host}`, '/', 404],
    ['elsewhere.example', '/', 404],
  ];
  for (const [asked, path, expected] of cases) expect(await portAt(asked, path), `${asked}${path}`).toBe(expected);
  const command = [
    'get',
    'events',
    '--field-selector=reason=ServicePortNotFound',
    '-o',
    'jsonpath={.items[*].message}',
  ];
  await eventually('the missing port is reported', SOON_MS, async () =>
    (await inNamespace(...command)).includes('has no TCP port "82"'),
  );
});

test('a default backend takes what no rule of its hosts does, and rules change while requests come', async () => {
  const spec = { defaultBackend: web({ number: 81 }), rules: [{ host: `default.${host}` }] };
  await createIngress('default', spec);
  await becomes(`default.${host}`, '/anything', 8081);
  const change = JSON.stringify({ spec: { defaultBackend: web({ number: 80 }) } });
  await inNamespace('patch', 'ingress', 'default', '--type=merge', '-p', change);
  await becomes(`default.${host}`, '/anything', 8080);
  await inNamespace('delete', 'ingress', 'default');
  // The wildcard host has it then.
  await becomes(`default.${host}`, '/a', 8081);
});

test("what a server learns of the client is the proxy's word, and WebSockets pass", async () => {
  const forged = {
    'x-forwarded-for': '192.0.2.1',
    x_forwarded_for: '192.0.2.2',
    'x-real-ip': '192.0.2.3',
    forwarded: 'for=192.0.2.4',
    'x-forwarded-proto': 'https',
    connection: 'keep-alive, x-forwarded-for',
  };
  const { headers } = await client.echo(host, '/', forged);
  expect(JSON.stringify(headers)).not.toContain('192.0.2.');
  expect(headers).toMatchObject({ 'x-forwarded-proto': 'http', 'x-forwarded-host': host });
  expect(headers['x-forwarded-port']).toBe(String(client.httpPort));
  expect(headers['x-forwarded-for']).toBe(headers['x-real-ip']);
  expect(await client.webSocket(host, '/second', 'hello')).toBe('hello');
});

async function putSecret(name: string, { cert, key }: Pick<ServerIdentity, 'cert' | 'key'>): Promise<void> {
  const data = { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name }, data };
  await inNamespace('delete', 'secret', name, '--ignore-not-found');
  await cluster.mustKubectl(['create', '-n', namespace.name, '-f', '-'], { input: JSON.stringify(secret) });
}

test('each host shows the certificate of its Secret, also after a rotation; a bad one harms no other', async () => {
  const [one, two] = [`one.${host}`, `two.${host}`];
  const [first, second, next] = [
    await issueServerIdentity([one]),
    await issueServerIdentity([two]),
    await issueServerIdentity([one]),
  ];
  await putSecret('first', first);
  await putSecret('bad', { cert: `${second.cert}\nuse_backend x`, key: first.key });
  await createIngress('tls', {
    rules: [{ host: one, http: { paths: [{ path: '/', pathType: 'Prefix', backend: web({ number: 80 }) }] } }],
    tls: [
      { hosts: [two], secretName: 'bad' },
      { hosts: [one], secretName: 'first' },
    ],
  });
  const { text } = await eventually('the certificate is served', SOON_MS, () => client.secured(one, first.ca));
  expect(text).toContain('"x-forwarded-proto":"https"');
  await expect(client.secured(two, second.ca)).rejects.toThrow();
  await eventually('the bad one is reported', SOON_MS, async () =>
    (await inNamespace('get', 'events', '--field-selector=reason=InvalidCertificate')).includes(
      'tls.key is not that of',
    ),
  );
  await putSecret('bad', second);
  await putSecret('first', next);
  await eventually('the new certificates are served', SOON_MS, async () => {
    await client.secured(one, next.ca);
    return await client.secured(two, second.ca);
  });
});

test('texts of a hostile Ingress stay texts, and the rest of it is served', async () => {
  const hostile = `hostile.${other.name}.example`;
  const path = '/x b1\n  use_backend b2 # "\'\\';
  const own = { path: "/own;'quo(ted)$", pathType: 'Prefix', backend: web({ number: 80 }) };
  const http = { paths: [{ path, pathType: 'ImplementationSpecific', backend: web({ number: 80 }) }, own] };
  await createIngress('hostile', { rules: [{ host: hostile, http }] }, other);
  // Its namespace has no such Service.
  await becomes(hostile, "/own;'quo(ted)$", 503);
  expect(await portAt(hostile, '/x')).toBe(404);
  await reported(other, 'InvalidPath');
});

test('a host stays with its namespace, whatever an older Ingress then names, and after a restart', async () => {
  const paths = (...all: readonly string[]) => ({
    http: { paths: all.map((path) => ({ path, pathType: 'Prefix', backend: web({ number: 80 }) })) },
  });
  const change = {
    spec: {
      rules: [
        { host, ...paths('/', '/second', '/login') },
        { host: `y.${host}`, ...paths('/') },
      ],
    },
  };
  const patch = ['patch', 'ingress', 'early', '--type=merge', '-p', JSON.stringify(change), '-n', other.name];
  await cluster.mustKubectl(patch);
  await reported(other, 'HostTaken');
  const isUnchanged = async () => {
    expect(await portAt(host, '/login')).toBe(8080);
    expect(await portAt(host, '/second')).toBe(8081);
    expect(await portAt(`y.${host}`, '/')).toBe(8080);
  };
  await isUnchanged();
  const [container] = await cluster.containers('ingress');
  await cluster.docker(['restart', container?.id ?? '']);
  await becomes(host, '/', 8080);
  await isUnchanged();
});

test('no request fails while a Deployment rolls out twice', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const failures: string[] = [];
  const served = new Set<string>();
  let isRolling = true;
  const load = Array.from({ length: 4 }, async (_, index) => {
    for (let count = 0; isRolling; count++) {
      try {
        // Every other client makes a new connection for each request.
        const { status, text } = await client.ask(
          host,
          `/${count}`,
          {},
          { agent: index % 2 === 0 ? agent : undefined },
        );
        if (status === 200) served.add((JSON.parse(text) as { name: string }).name);
        else failures.push(`${status} ${text}`);
      } catch (error) {
        failures.push(String(error));
      }
    }
  });
  for (const round of [1, 2]) {
    await inNamespace('rollout', 'restart', 'deployment/web');
    await inNamespace('rollout', 'status', 'deployment/web', '--timeout=170s');
    await eventually(`pods of round ${round} serve`, SOON_MS, () => served.size >= 2 * (round + 1));
  }
  isRolling = false;
  await Promise.all(load);
  agent.destroy();
  expect(failures).toEqual([]);
});
