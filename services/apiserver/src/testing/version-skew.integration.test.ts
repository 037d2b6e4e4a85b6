/**
 * Programs of the release that deploy/previous-release names run beside those of this checkout, from their source and with its packages: API
 * servers of both over one etcd, and controllers and nodes of each at the API server of the other. `npm run upgrades` replaces all services of
 * a cluster.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { type EtcdCluster, startEtcdCluster } from '@gantry/etcd/testing';
import {
  CONFIG_MAPS,
  type Deployment,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  NAMESPACES,
  PODS,
  SECRETS,
  SERVICES,
} from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../../..');
/** For programs that start and controllers that work while the machine does other work. */
const LIMIT_MS = 120_000;
const RELEASES = ['previous', 'present'] as const;
type Release = (typeof RELEASES)[number];

interface Server {
  readonly kubeconfig: string;
  readonly grpcPort: string;
  readonly client: HttpClient;
}

const stack = new AsyncDisposableStack();
let folder: string;
let etcd: EtcdCluster;
let servers: Readonly<Record<Release, Server>>;

const soon = () => AbortSignal.timeout(LIMIT_MS);

/** Runs a source file of a release until it is disposed of. `log` gets each line; `ended` rejects if it ends before. */
class Program implements AsyncDisposable {
  private readonly child: ChildProcess;
  private readonly lines: string[] = [];
  private state: 'running' | 'stopping' = 'running';
  readonly ended: Promise<never>;

  constructor(release: Release, file: string, args: readonly string[], log: (line: string) => void = () => undefined) {
    const root = release === 'present' ? ROOT : join(folder, 'source');
    const options = ['--conditions=gantry-source', '--disable-warning=ExperimentalWarning'];
    this.child = spawn(process.execPath, [...options, file, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        log(line);
      });
    }
    this.ended = once(this.child, 'close').then(([code]) => {
      if (this.state === 'stopping') return new Promise<never>(() => undefined);
      throw new Error(`${file} of the ${release} release ended with ${code}:\n${this.lines.slice(-20).join('\n')}`);
    });
    this.ended.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.state = 'stopping';
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const closed = once(this.child, 'close');
    this.child.kill();
    await closed;
  }
}

async function startServer(release: Release): Promise<Server> {
  const kubeconfig = join(folder, `kubeconfig-${release}`);
  const listening = Promise.withResolvers<string>();
  const args = ['0', kubeconfig, etcd.endpoints.join(',')];
  const server = new Program(release, 'services/apiserver/src/testing/dev-server.ts', args, (line) => {
    const { kubeconfig: written, grpcPort } = parsed(line);
    if (written !== undefined) listening.resolve(String(grpcPort));
  });
  stack.use(server);
  const grpcPort = await Promise.race([listening.promise, server.ended]);
  return { kubeconfig, grpcPort, client: stack.use(createHttpClient(readKubeconfig(kubeconfig))) };
}

/** A line of a log; others are of Node.js. */
function parsed(line: string): Readonly<Record<string, unknown>> {
  return line.startsWith('{') ? JSON.parse(line) : {};
}

beforeAll(async () => {
  ({ path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), 'gantry-skew-'))));
  const extracted = promisify(execFile)(join(ROOT, 'deploy/bin/previous-source'), [join(folder, 'source')]);
  [etcd] = await Promise.all([startEtcdCluster({ size: 1 }), extracted]);
  stack.use(etcd);
  const [previous, present] = await Promise.all([startServer('previous'), startServer('present')]);
  servers = { previous, present };
}, LIMIT_MS);

afterAll(() => stack.disposeAsync(), LIMIT_MS);

async function createNamespace(client: HttpClient, name: string): Promise<void> {
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, soon());
}

test.each([
  ['previous', 'present'],
  ['present', 'previous'],
] as const)('objects that the API server of the %s release writes are changed by the %s one', async (first, second) => {
  const [one, other] = [servers[first].client, servers[second].client];
  const namespace = `from-${first}`;
  await createNamespace(one, namespace);
  const watching = new AbortController();
  const seen: (string | undefined)[] = [];
  const watched = (async () => {
    for await (const batch of one.watch(CONFIG_MAPS, { namespace, sendInitialEvents: true }, watching.signal)) {
      for (const event of batch) {
        if (event.type !== 'BOOKMARK' && event.object.metadata.name === 'c') seen.push(event.object.data?.['turn']);
      }
    }
  })();
  watched.catch(() => undefined);

  // Each is read by the other one, also from its cache, and keeps the fields that this one has written.
  const key = { namespace, name: 'c' };
  const metadata = { ...key, finalizers: ['example.com/kept'] };
  await one.create(
    CONFIG_MAPS,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { turn: '0', kept: 'yes' } },
    soon(),
  );
  await expect.poll(async () => (await other.list(CONFIG_MAPS, { namespace }, soon())).items.length).toBeGreaterThan(0);
  for (const [index, client] of [other, one, other, one].entries()) {
    const { data } = await client.patch(CONFIG_MAPS, key, { merge: { data: { turn: `${index + 1}` } } }, soon());
    expect(data).toEqual({ turn: `${index + 1}`, kept: 'yes' });
  }
  await expect.poll(() => seen).toEqual(['0', '1', '2', '3', '4']);
  await other.patch(CONFIG_MAPS, key, { merge: { metadata: { finalizers: null } } }, soon());

  // Sealed in etcd.
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 's' }, data: { a: 'Yg==' } };
  await one.create(SECRETS, secret, soon());
  expect((await other.get(SECRETS, { namespace, name: 's' }, soon())).data).toEqual({ a: 'Yg==' });
  watching.abort();
  await watched.catch(() => undefined);
});

/** Its pods need no scheduler. */
function placedDeployment(namespace: string, nodeName: string): Deployment {
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { nodeName, containers: [{ name: 'web', image: 'web' }] } };
  const spec = { replicas: 2, selector: { matchLabels: labels }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name: 'web' }, spec };
}

test.each([
  ['previous', 'present'],
  ['present', 'previous'],
] as const)('controllers and nodes of the %s release work with the API server of the %s one', async (release, of) => {
  const { client, kubeconfig, grpcPort } = servers[of];
  const controllersFile = 'services/controller-manager/src/testing/dev-controllers.ts';
  await using controllers = new Program(release, controllersFile, [kubeconfig, grpcPort]);
  const nodesArgs = ['--nodes', '1', '--prefix', release, '--kubeconfig', kubeconfig];
  await using nodes = new Program(release, 'services/agent/src/hollow-main.ts', nodesArgs);
  const work = async () => {
    const namespace = `run-by-${release}`;
    await createNamespace(client, namespace);
    await client.create(DEPLOYMENTS, placedDeployment(namespace, `${release}-1`), soon());
    const service = { selector: { app: 'web' }, ports: [{ port: 80 }] };
    await client.create(
      SERVICES,
      { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: 'web' }, spec: service },
      soon(),
    );
    const available = async () =>
      (await client.get(DEPLOYMENTS, { namespace, name: 'web' }, soon())).status?.availableReplicas;
    await expect.poll(available, { timeout: LIMIT_MS }).toBe(2);
    const addresses = async () =>
      (await client.list(ENDPOINT_SLICES, { namespace }, soon())).items.flatMap(({ endpoints }) => endpoints ?? []);
    await expect.poll(addresses, { timeout: LIMIT_MS }).toHaveLength(2);

    // The garbage collector, the agent's end of a pod, and the end of a namespace.
    await client.delete(NAMESPACES, { namespace: '', name: namespace }, {}, soon());
    const left = async () => (await client.list(PODS, { namespace }, soon())).items.length;
    await expect.poll(left, { timeout: LIMIT_MS }).toBe(0);
    const namespaces = async () =>
      (await client.list(NAMESPACES, {}, soon())).items.map(({ metadata }) => metadata.name);
    await expect.poll(namespaces, { timeout: LIMIT_MS }).not.toContain(namespace);
  };
  await Promise.race([work(), controllers.ended, nodes.ended]);
});
