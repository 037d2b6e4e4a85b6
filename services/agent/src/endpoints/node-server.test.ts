import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { KubeObject, Resource, SubjectAccessReview, TokenReview } from '@gantry/objects';
import { createMetrics, silentLogger } from '@gantry/service';
import { fixedTls, type TlsMaterial } from '@gantry/tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority, type Issue } from '../testing/authority.ts';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { ENGINE, pod } from '../testing/pods.ts';
import { runningContainer } from '../testing/running-container.ts';
import { linuxHostMeter } from '../usage/linux-host-meter.ts';
import { NodeAccess } from './node-access.ts';
import { createNodeEndpoints } from './node-endpoints.ts';
import { createNodeServer, type NodeServer } from './node-server.ts';
import type { HostMeter } from '../runtime/stats.ts';

const HOST = {
  memory: { availableBytes: 1, capacityBytes: 2 },
  disk: { availableBytes: 300, capacityBytes: 1000, freeInodes: 40, inodes: 50 },
  processes: { available: 900, capacity: 1000 },
};
const OWNER = { cluster: 'c', node: 'node-a' };
const NO_STREAMS = { serve: () => expect.unreachable() };

let issue: Issue;
let apiServer: TlsMaterial;
let port: number;
let clock: ManualClock;
/** The requests to the API server. */
let asked: string[];
/** The verbs that each user may use on the node. */
let allowed: Readonly<Record<string, readonly string[]>>;
let probes: ProbeMetrics;
/** The network interfaces of the host. */
let network: HostMeter['readNetwork'];
let devices: HostMeter['readDevices'];
/** The API server answers nothing until this resolves. */
let answering: Promise<void>;
let handlers: { accept: (socket: TLSSocket) => void };
let listener: Server;

beforeAll(async () => {
  issue = await createAuthority(systemClock.now());
  apiServer = await issue('CN=system:apiserver,O=gantry:apiservers', 'apiserver');
  const own = await issue('CN=system:node:node-a,O=system:nodes', 'node-a');
  const options = { ...own, requestCert: true, rejectUnauthorized: false };
  listener = createServer(options, (socket) => handlers.accept(socket)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  ({ port } = listener.address() as AddressInfo);
});
afterAll(() => {
  listener.close();
});

/** An API server that accepts tokens of the form `token-of-<user>`. */
async function create<T extends KubeObject>(_resource: Resource<T>, object: T): Promise<T> {
  if (object.kind === 'TokenReview') {
    const review = object as unknown as TokenReview;
    const username = /^token-of-(.*)$/.exec(review.spec.token)?.[1];
    asked.push(`token ${review.spec.token}`);
    await answering;
    const status = username === undefined ? { authenticated: false } : { authenticated: true, user: { username } };
    return { ...object, status };
  }
  const { user = '', resourceAttributes } = (object as unknown as SubjectAccessReview).spec;
  asked.push(`${user} ${resourceAttributes?.verb} ${resourceAttributes?.name}/${resourceAttributes?.subresource}`);
  const status = { allowed: allowed[user]?.includes(resourceAttributes?.subresource ?? '') === true };
  return { ...object, status };
}

beforeEach(async () => {
  asked = [];
  allowed = {};
  answering = Promise.resolve();
  network = async () => [];
  devices = async () => ({ names: new Map(), files: '/dev/sda1' });
  probes = new ProbeMetrics();
  clock = new ManualClock();
  const behaviour = { output: () => 'one\ntwo\n', usage: () => ({ cpuMillis: 500, memoryBytes: 2 ** 20 }) };
  const { runtime } = await runningContainer(OWNER, { clock, behaviour });
  await clock.advance(10_000);
  const endpoints = createNodeEndpoints({
    runtime,
    owner: OWNER,
    own: undefined,
    engine: ENGINE,
    usage: { pods: () => [], node: () => undefined },
    meter: { read: async () => HOST, readNetwork: () => network(), readDevices: () => devices() },
    storage: { storageOf: () => undefined },
    probes,
    pods: () => [pod()],
    metrics: createMetrics(),
    settings: { kind: 'KubeletConfiguration' },
    startedAt: clock.now(),
    clock,
    logger: silentLogger,
  });
  const access = new NodeAccess({ client: { create }, node: 'node-a', clock });
  const tls = fixedTls(await issue('CN=system:node:node-a,O=system:nodes', 'node-a'));
  handlers = createNodeServer({
    tls,
    access,
    endpoints,
    streams: NO_STREAMS,
    clock: systemClock,
    logger: silentLogger,
  });
});

interface Asking {
  readonly client?: TlsMaterial;
  readonly token?: string;
  readonly method?: string;
}

async function ask(path: string, { client, token, method = 'GET' }: Asking = { client: apiServer }) {
  const { ca } = apiServer;
  const sent = request({
    ...(client === undefined ? { ca } : client),
    host: '127.0.0.1',
    port,
    servername: 'node-a',
    path,
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return { code: response.statusCode, type: response.headers['content-type'], text };
}

describe('a connection to a node', () => {
  let time: ManualClock;
  let server: NodeServer;
  let client: TLSSocket;

  beforeEach(async () => {
    time = new ManualClock(systemClock.now());
    const tls = fixedTls(await issue('CN=system:node:node-a,O=system:nodes', 'node-a'));
    const access = { check: async () => 'allowed' as const };
    const endpoints = async () => ({ code: 200, contentType: 'text/plain', body: 'ok' });
    server = createNodeServer({ tls, access, endpoints, streams: NO_STREAMS, clock: time, logger: silentLogger });
    handlers = server;
    client = connect({ host: '127.0.0.1', port, ca: apiServer.ca, servername: 'node-a' });
    client.on('error', () => undefined);
    await waiting(10_000);
  });
  afterEach(() => client.destroy());

  /** Waits until the server waits for the head of a request. */
  async function waiting(ms: number): Promise<void> {
    while (time.nextTimerMs() !== ms) await new Promise((resolve) => setImmediate(resolve));
  }

  it('ends when no request comes on it', async () => {
    client.write('GET / HT');
    const closed = once(client, 'close');
    client.resume();
    await time.advance(10_000);
    await closed;
  });

  it('ends when no other request comes after the first', async () => {
    await time.advance(9_000);
    client.write('GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n');
    const [answer] = (await once(client, 'data')) as [Buffer];
    // No time of Node.js: it would end the connection earlier.
    expect(answer.toString()).not.toMatch(/^keep-alive:/im);
    await waiting(10_000);
    await time.advance(9_999);
    expect(client.closed).toBe(false);
    const closed = once(client, 'close');
    await time.advance(1);
    await closed;
  });

  it('is one of a number that an address may have without a certificate of the cluster', async () => {
    const open = async (material: Partial<TlsMaterial>) => {
      const socket = connect({ host: '127.0.0.1', port, ca: apiServer.ca, servername: 'node-a', ...material });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined);
      const ended = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')));
      const answered = new Promise<'open'>((resolve) => socket.once('data', () => resolve('open')));
      // The answer shows that the server has seen the certificate.
      socket.write('GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n');
      return await Promise.race([answered, ended]);
    };
    for (let count = 1; count < 63; count++) expect(await open({})).toBe('open');
    for (let count = 0; count < 3; count++) expect(await open(apiServer)).toBe('open');
    expect(await open({})).toBe('open');
    expect(await open({})).toBe('closed');
  });

  it('ends with the server', async () => {
    const closed = once(client, 'close');
    client.resume();
    server[Symbol.dispose]();
    await closed;
  });
});

describe('the endpoints of a node', () => {
  it.each([
    ['/healthz', 'ok'],
    ['/healthz/ping', 'ok'],
    ['/configz', '{"kubeletconfig":{"kind":"KubeletConfiguration"}}'],
    ['/metrics/probes', ''],
    ['/containerLogs/default/web/main', 'one\ntwo\n'],
    ['/containerLogs/default/web/main?tailLines=1', 'two\n'],
    ['/containerLogs/default/web/main?limitBytes=2', 'on'],
    ['/logs/', '<!doctype html>\n<pre>\n<a href="pods/">pods/</a>\n</pre>\n'],
    ['/logs/pods', '<!doctype html>\n<pre>\n<a href="default_web_uid-1/">default_web_uid-1/</a>\n</pre>\n'],
    ['/logs/pods/default_web_uid-1/main/', '<!doctype html>\n<pre>\n<a href="0.log">0.log</a>\n</pre>\n'],
    ['/logs/pods/default_web_uid-1/main/0.log', 'one\ntwo\n'],
  ])('%s', async (path, expected) => {
    expect(await ask(path)).toMatchObject({ code: 200, text: expected });
  });

  it.each(['/pods', '/runningpods/'])('%s lists pods', async (path) => {
    const { code, type, text } = await ask(path);
    const { kind, items } = JSON.parse(text);
    expect({ code, type, kind }).toEqual({ code: 200, type: 'application/json', kind: 'PodList' });
    expect(items[0]).toMatchObject({
      metadata: { namespace: 'default', name: 'web', uid: 'uid-1' },
      spec: { containers: [{ name: 'main' }] },
    });
  });

  it('/metrics are those of the process', async () => {
    expect((await ask('/metrics')).text).toContain('process_cpu_seconds_total');
  });

  it('/metrics/resource has what containers, pods and the node have used', async () => {
    const { text } = await ask('/metrics/resource');
    const at = clock.now();
    for (const line of [
      `container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 5 ${at}`,
      `container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 1048576 ${at}`,
      `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 5 ${at}`,
      `node_cpu_usage_seconds_total 5 ${at}`,
      `node_memory_working_set_bytes 1048576 ${at}`,
      'resource_scrape_error 0',
    ])
      expect(text.split('\n')).toContain(line);
  });

  it('/metrics/cadvisor has the containers with their labels', async () => {
    const { text } = await ask('/metrics/cadvisor');
    expect(text).toMatch(
      /container_cpu_usage_seconds_total\{container="main",cpu="total",id="\/docker\/0+2",image="sha256:1",name="0+2",namespace="default",pod="web"\} 5 /,
    );
    expect(text).toContain('machine_cpu_cores 8\n');
    expect(text).toMatch(/container_fs_limit_bytes\{[^}]*,device="\/dev\/sda1",[^}]*\} 1000 /);
  });

  it('/metrics/cadvisor has all but the disk where that cannot be read', async () => {
    devices = () => linuxHostMeter('/no/such/folder', '/').readDevices();
    const { code, text } = await ask('/metrics/cadvisor');
    expect([code, text.includes('container_fs_'), text.includes('container_last_seen')]).toEqual([200, false, true]);
  });

  it('/metrics/probes has the results of probes', async () => {
    const labels = { namespace: 'default', name: 'web', uid: 'uid-1' };
    probes.count(labels, 'main', 'liveness', { kind: 'failure', seconds: 1 });
    expect((await ask('/metrics/probes')).text).toContain(
      'prober_probe_total{container="main",namespace="default",pod="web",pod_uid="uid-1",probe_type="Liveness",result="failed"} 1\n',
    );
  });

  it('/stats/summary has the node and its pods', async () => {
    const { node, pods } = JSON.parse((await ask('/stats/summary')).text);
    expect(node).toMatchObject({ nodeName: 'node-a', cpu: { usageCoreNanoSeconds: 5e9 }, fs: { usedBytes: 700 } });
    expect(pods).toMatchObject([
      {
        podRef: { name: 'web', namespace: 'default', uid: 'uid-1' },
        containers: [{ name: 'main', memory: { workingSetBytes: 2 ** 20 } }],
      },
    ]);
  });

  it("/stats/summary has all but the host's network where that cannot be read", async () => {
    network = () => linuxHostMeter('/no/such/folder', '/').readNetwork();
    const { code, text } = await ask('/stats/summary');
    const { node, pods } = JSON.parse(text);
    expect([code, Object.keys(node), pods.length]).toEqual([
      200,
      ['nodeName', 'startTime', 'cpu', 'memory', 'fs', 'runtime', 'rlimit'],
      1,
    ]);
  });

  it('/stats/summary has CPU and memory alone where no more is wanted', async () => {
    const { node } = JSON.parse((await ask('/stats/summary?only_cpu_and_memory=true')).text);
    expect(Object.keys(node)).toEqual(['nodeName', 'startTime', 'cpu', 'memory']);
  });

  it.each([
    ['/', 404],
    ['/constructor', 404],
    ['/podsx', 404],
    ['/metrics/x', 404],
    ['/stats/x', 404],
    ['/logs/x', 404],
    ['/logs/pods/x/', 404],
    ['/logs/pods/default_web_uid-1/main/1.log', 404],
    ['/containerLogs/default/web', 404],
    ['/containerLogs/default/db/main', 404],
    ['/containerLogs/default/web/x', 404],
    ['/containerLogs/default/web/main?previous=true', 400],
    ['/containerLogs/default/web/main?tailLines=x', 400],
    ['/%zz', 400],
  ])('%s is refused with %i', async (path, code) => {
    expect((await ask(path)).code).toBe(code);
  });

  it('are read only', async () => {
    expect((await ask('/pods', { client: apiServer, method: 'POST' })).code).toBe(405);
  });
});

describe('access to the endpoints', () => {
  it('needs a certificate of the cluster or a token', async () => {
    const foreign = await (await createAuthority(systemClock.now()))('CN=system:apiserver,O=gantry:apiservers', 'x');
    for (const asking of [{}, { token: 'forged' }, { client: { ...foreign, ca: apiServer.ca } }]) {
      expect(await ask('/pods', asking)).toMatchObject({ code: 401, text: 'Unauthorized\n' });
    }
    expect(asked).toEqual(['token forged']);
  });

  it('of a user is decided by the API server, for each subresource', async () => {
    allowed = { prometheus: ['metrics'], admin: ['proxy'], viewer: ['pods'] };
    const codeOf = async (path: string, user: string) => (await ask(path, { token: `token-of-${user}` })).code;
    expect(await codeOf('/metrics/cadvisor', 'prometheus')).toBe(200);
    expect(await codeOf('/%6detrics/cadvisor', 'prometheus')).toBe(200);
    expect(await codeOf('/stats/summary', 'prometheus')).toBe(403);
    expect(await codeOf('/pods', 'prometheus')).toBe(403);
    expect(await codeOf('/pods', 'viewer')).toBe(200);
    expect(await codeOf('/pods', 'admin')).toBe(200);
    expect(await codeOf('/metrics', 'admin')).toBe(403);
    expect(asked).toContain('prometheus get node-a/metrics');
    expect(await ask('/stats/summary', { token: 'token-of-prometheus' })).toMatchObject({
      text: 'Forbidden (user=prometheus, verb=get, resource=nodes, subresource(s)=[stats])\n',
    });
  });

  it('with a certificate is that of its subject; only API servers may do everything', async () => {
    const client = await issue('CN=system:node:node-b,O=system:nodes', 'node-b');
    expect((await ask('/pods', { client })).code).toBe(403);
    expect(asked).toEqual(['system:node:node-b get node-a/pods', 'system:node:node-b get node-a/proxy']);
    expect((await ask('/pods')).code).toBe(200);
  });

  it('of an API server needs no place that bogus tokens can take', async () => {
    const hold = Promise.withResolvers<void>();
    answering = hold.promise;
    const bogus = Array.from({ length: 20 }, (_, index) => ask('/pods', { token: `bogus-${index}` }));
    while (asked.length < 16) await new Promise((resolve) => setImmediate(resolve));
    expect((await ask('/pods')).code).toBe(200);
    hold.resolve();
    const codes = (await Promise.all(bogus)).map(({ code }) => code);
    expect(codes.filter((code) => code === 429)).toHaveLength(4);
    expect(codes.filter((code) => code === 401)).toHaveLength(16);
  });

  it('is asked about again after a while', async () => {
    allowed = { viewer: ['pods'] };
    const codeOf = async () => (await ask('/pods', { token: 'token-of-viewer' })).code;
    await codeOf();
    await codeOf();
    expect(asked).toHaveLength(2);
    allowed = {};
    await clock.advance(300_001);
    expect(await codeOf()).toBe(403);
    allowed = { viewer: ['pods'] };
    expect(await codeOf()).toBe(403);
    await clock.advance(30_001);
    expect(await codeOf()).toBe(200);
  });
});
