import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Probe } from '@gantry/objects';
import { container } from '../testing/pods.ts';
import { performProbe } from './perform-probe.ts';

let http: Server;
let tcp: Server;
const port = (server: Server) => (server.address() as AddressInfo).port;
const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

beforeAll(async () => {
  http = createHttpServer((request, response) => {
    response.statusCode = request.url === '/ok' ? (request.headers['x-probe'] === 'yes' ? 204 : 400) : 503;
    response.end();
  });
  tcp = createTcpServer((socket) => socket.end());
  await Promise.all([listen(http), listen(tcp)]);
});
afterAll(async () => {
  await Promise.all([http, tcp].map((server) => new Promise((resolve) => server.close(resolve))));
});

const containers = {
  exec: (_id: string, command: readonly string[]) =>
    Promise.resolve(command[0] === 'true' ? { exitCode: 0, output: '' } : { exitCode: 1, output: 'no cheese' }),
};
const run = (probe: Probe, network: 'pod' | 'host' = 'pod', address = '127.0.0.1') => {
  const target = {
    container: container('main', { ports: [{ name: 'web', containerPort: port(http) }] }),
    containerId: 'id',
    address,
    network,
  };
  return performProbe(probe, target, containers, AbortSignal.timeout(30_000));
};

it('HTTP succeeds below status 400, by a named port and with the headers of the probe', async () => {
  expect(
    await run({ httpGet: { path: '/ok', port: 'web', httpHeaders: [{ name: 'X-Probe', value: 'yes' }] } }),
  ).toEqual({ kind: 'success' });
});

it.each([{ httpGet: { port: 'none' } }, { tcpSocket: { port: 'none' } }])(
  'a port with an unknown name fails with it: %j',
  async (probe) => {
    const message = 'container "main" has no port with the name "none"';
    expect(await run(probe)).toEqual({ kind: 'failure', message });
  },
);

it('digits are the number of a port', async () => {
  expect(await run({ tcpSocket: { port: String(port(tcp)) } })).toEqual({ kind: 'success' });
});

it('HTTP fails with the status in its message', async () => {
  expect(await run({ httpGet: { port: 'web' } })).toEqual({
    kind: 'failure',
    message: 'HTTP probe failed with statuscode: 503',
  });
});

it('a closed port fails with kubelet’s message', async () => {
  expect(await run({ tcpSocket: { port: 1 } })).toEqual({
    kind: 'failure',
    message: 'dial tcp 127.0.0.1:1: connect: connection refused',
  });
  expect(await run({ httpGet: { port: 1 } })).toEqual({
    kind: 'failure',
    message: 'Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused',
  });
});

it('TCP succeeds when it connects', async () => {
  expect(await run({ tcpSocket: { port: port(tcp) } })).toEqual({ kind: 'success' });
});

it('a command fails with its output as message', async () => {
  expect(await run({ exec: { command: ['true'] } })).toEqual({ kind: 'success' });
  expect(await run({ exec: { command: ['false'] } })).toEqual({ kind: 'failure', message: 'no cheese' });
  expect(await run({ exec: { command: ['true', '$(A)'.repeat(200_000)] } })).toEqual({
    kind: 'failure',
    message: 'exec.command[1] has 800000 bytes; a program gets at most 131071 in one',
  });
});

const REFUSED = { kind: 'failure', message: expect.stringContaining('may not reach') };
const SAME = ['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '0'];

it.each([...SAME, 'x@127.0.0.1', '[::ffff:127.0.0.1]', '127.0.0.1.'])(
  'the agent is no way for a pod to http://%s',
  async (host) => {
    expect(await run({ httpGet: { host, port: port(http), path: '/' } }, 'pod', '10.0.0.9')).toEqual(REFUSED);
  },
);

it.each(SAME)('the agent is no way for a pod to %s over TCP', async (host) => {
  expect(await run({ tcpSocket: { host, port: port(tcp) } }, 'pod', '10.0.0.9')).toEqual(REFUSED);
});

it('a pod on the host’s network may be probed at any host', async () => {
  expect(await run({ tcpSocket: { host: '127.0.0.1', port: port(tcp) } }, 'host', '10.0.0.9')).toEqual({
    kind: 'success',
  });
});
