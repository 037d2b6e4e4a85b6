import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { freePort } from '@gantry/base/testing';
import { NODES, SERVICES, type ServicePort } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { ANSWER_MS, ServicePods } from './harness/service-pods.ts';

/** What load balancers are on Docker Desktop: here the setting asks for it. */
const cluster = new Cluster();
const SOON_MS = 120_000;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let pods: ServicePods;

beforeAll(async () => {
  await cluster.up({ GANTRY_FORWARDERS: 'on' });
  namespace = await cluster.namespace();
  pods = new ServicePods(cluster, namespace.name);
  await pods.server('web', (await cluster.nodes())[0]?.metadata.name ?? '', 0);
  await pods.untilReady('web');
}, 600_000);
afterAll(async () => {
  await namespace?.[Symbol.asyncDispose]();
  await cluster.up({ GANTRY_FORWARDERS: '' });
  await eventually('no forwarder is left', SOON_MS, async () => (await forwarders()).length === 0);
}, 600_000);

const kubectl = (...args: string[]) => cluster.mustKubectl(['-n', namespace.name, ...args]);
const forwarders = () => cluster.podContainers(['label=gantry.forwarder'], 'all');

async function serve(name: string, ...ports: readonly ServicePort[]): Promise<void> {
  await cluster.create(SERVICES, namespace.name, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [...ports] },
  });
}

const http = (port: number): ServicePort => ({ name: `http-${port}`, port, targetPort: 8080 });

/** A port of the loopback that no program has, or that this one has. */
async function listen(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

async function hostAsks(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(3000) });
  return (await response.text()).split(' ')[0] ?? '';
}

async function hostAsksUdp(port: number): Promise<string> {
  const socket = createSocket('udp4');
  try {
    socket.send('x', port, '127.0.0.1');
    const [text] = (await once(socket, 'message', { signal: AbortSignal.timeout(1000) })) as [Buffer];
    return text.toString().split(' ')[0] ?? '';
  } finally {
    socket.close();
  }
}

const untilAnswered = (port: number, ask = hostAsks) =>
  eventually(`127.0.0.1:${port} answers`, SOON_MS, async () => (await ask(port)) === 'web');

const untilClosed = (port: number) =>
  eventually(`127.0.0.1:${port} is closed`, SOON_MS, async () => {
    const outcome = await hostAsks(port).catch((error: unknown) => error);
    return outcome instanceof Error;
  });

test('a load balancer answers on the loopback, by TCP and UDP; ports are added and removed while it runs', async () => {
  const [first, second, datagrams] = [await freePort(), await freePort(), await freePort()] as const;
  const udp: ServicePort = { name: 'udp', port: datagrams, targetPort: 9053, protocol: 'UDP' };
  await serve('balanced', http(first), udp);
  await untilAnswered(first);
  await untilAnswered(datagrams, hostAsksUdp);
  await eventually('kubectl shows it', SOON_MS, async () =>
    /LoadBalancer +\S+ +10\.[\d.]+,127\.0\.0\.1 /.test(await kubectl('get', 'service', 'balanced', '--no-headers')),
  );
  const ports = (...now: readonly ServicePort[]) =>
    kubectl('patch', 'service', 'balanced', '--type=merge', '-p', JSON.stringify({ spec: { ports: now } }));
  await ports(http(first), http(second), udp);
  await untilAnswered(second);
  await untilAnswered(first);
  await ports(http(second));
  await untilClosed(first);
  await untilAnswered(second);
  // The one before it may still be on its way out, alone or beside it: the engine refuses to remove a container twice.
  await eventually('a forwarder is removed by hand', SOON_MS, async () => {
    const [only = '', ...others] = await forwarders();
    if (others.length > 0) return false;
    await cluster.docker(['rm', '-f', only]);
    return true;
  });
  await untilAnswered(second);
  await kubectl('delete', 'service', 'balanced');
  await untilClosed(second);
  await eventually('its container is gone', SOON_MS, async () => (await forwarders()).length === 0);
});

test('where a port of the loopback is in use, the node port answers there, and an Event says so', async () => {
  const { server, port } = await listen();
  try {
    await serve('crowded', http(port));
    const nodePort = await eventually('a node port', SOON_MS, async () =>
      Number(await kubectl('get', 'service', 'crowded', '-o=jsonpath={.spec.ports[0].nodePort}')),
    );
    await untilAnswered(nodePort);
    await eventually('an Event', SOON_MS, async () =>
      (await kubectl('describe', 'service', 'crowded')).includes(`127.0.0.1 (${nodePort}/tcp) is forwarded instead`),
    );
  } finally {
    server.close();
  }
  await kubectl('delete', 'service', 'crowded');
});

test('pods do not get through a forwarder, and it may do nothing but forward', async () => {
  const port = await freePort();
  await serve('closed', http(port));
  await untilAnswered(port);
  // The one before it may still be on its way out.
  const id = await eventually('there is one forwarder', SOON_MS, async () => {
    const [only, ...others] = await forwarders();
    return others.length === 0 && only;
  });
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
  const address = await cluster.docker(['inspect', '-f', format, id]);
  expect(await pods.ask('web', `${address}:${port}`, 1, ANSWER_MS)).toEqual(['ECONNREFUSED']);
  const rights = await cluster.docker([
    'inspect',
    '-f',
    '{{.HostConfig.CapDrop}} {{.HostConfig.CapAdd}} {{.HostConfig.ReadonlyRootfs}}',
    id,
  ]);
  expect(rights).toBe('[ALL] [NET_ADMIN] true');
  for (const { metadata } of await cluster.list(NODES)) {
    expect(metadata.annotations?.['gantry.dev/forwarded-from']).toBe('127.0.0.1');
  }
  await kubectl('delete', 'service', 'closed');
});
