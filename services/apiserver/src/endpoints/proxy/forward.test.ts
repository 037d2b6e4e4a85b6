import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { offerUpgrade } from '@gantry/streams';
import type { Exchange } from '../../http/exchange.ts';
import { forward, UnreachableError } from './forward.ts';

/** The requests that the backend has parsed, as `METHOD path body`. */
const seen: string[] = [];

const backend = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  request.on('end', () => {
    seen.push(`${request.method ?? ''} ${request.url ?? ''} ${body}`);
    response.end('ok');
  });
});
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const front = http.createServer((req, res) => {
  const { port } = backend.address() as AddressInfo;
  const to = { scheme: 'http', host: '127.0.0.1', port, agent } as const;
  const { url = '' } = req;
  forward(exchangeOf(req, res), { backend: to, target: url, prefix: '', headers: {} }).catch(() => res.destroy());
});

function exchangeOf(req: http.IncomingMessage, res: http.ServerResponse): Exchange {
  const { method = '', url = '' } = req;
  const { signal } = new AbortController();
  const query = new URLSearchParams();
  return {
    req,
    res,
    method,
    path: url,
    query,
    signal,
    warnings: new Set(),
    onBody: () => undefined,
    keptBytes: () => 0,
  };
}

beforeAll(async () => {
  for (const server of [backend, front]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  agent.destroy();
  for (const server of [backend, front]) server.close().closeAllConnections();
});
beforeEach(() => seen.splice(0));

/** Sends the text on a new connection and returns the whole response. */
function exchangeText(text: string): Promise<string> {
  const { port } = front.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
    socket.on('end', () => resolve(answer)).on('error', reject);
  });
}

it('leaves a backend that changes the protocol unasked: errors of such a connection would end the process', async () => {
  const sockets: net.Socket[] = [];
  const hostile = net.createServer((socket) => {
    sockets.push(socket);
    socket.once('data', () => socket.write('HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello'));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((done) => hostile.listen(0, '127.0.0.1', done));
  const { port } = hostile.address() as AddressInfo;
  const done = Promise.withResolvers<unknown>();
  const asking = http.createServer((req, res) => {
    const to = { scheme: 'http', host: '127.0.0.1', port } as const;
    forward(exchangeOf(req, res), { backend: to, target: '/', prefix: '', headers: {} }).catch(done.resolve);
  });
  await new Promise<void>((listening) => asking.listen(0, '127.0.0.1', listening));
  const client = net.connect((asking.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: f\r\n\r\n');
  expect(await done.promise).toBeInstanceOf(UnreachableError);
  const [socket] = sockets;
  if (socket?.closed === false) await new Promise((closed) => socket.once('close', closed));
  client.destroy();
  for (const server of [hostile, asking]) server.close();
});

it('says of a switched connection when bytes of the backend arrive', async () => {
  const far: net.Socket[] = [];
  const switching = http.createServer();
  switching.on('upgrade', (_, socket: net.Socket) => {
    far.push(socket);
    socket.write('HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  });
  let received = 0;
  const asking = http.createServer();
  asking.on('upgrade', (req, socket: net.Socket, head) => {
    const to = { scheme: 'http', host: '127.0.0.1', port: (switching.address() as AddressInfo).port } as const;
    const exchange = exchangeOf(req, offerUpgrade(req, socket, head));
    const onReceived = () => void (received += 1);
    forward(exchange, { backend: to, target: '/', prefix: '', headers: {}, onReceived }).catch(() => socket.destroy());
  });
  for (const server of [switching, asking]) {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  }
  const client = net.connect((asking.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  client.write('GET / HTTP/1.1\r\nHost: f\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  const said = async (text: string) => {
    for (let got = ''; !got.includes(text); ) got += (await once(client, 'data'))[0] as string;
  };
  await said('101');
  expect(received).toBe(0);
  far[0]?.write('a line');
  await said('a line');
  expect(received).toBe(1);
  client.destroy();
  for (const server of [switching, asking]) server.close();
});

describe('a request that is sent on', () => {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: b\r\nX-Remote-User: root\r\n\r\n';

  describe.each(['GET', 'DELETE', 'OPTIONS', 'POST', 'PUT', 'PATCH'])('by %s', (method) => {
    const chunks = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;

    it.each([
      ['of known length', `Connection: close\r\nContent-Length: ${hidden.length}`, hidden],
      [
        'whose length is said to concern the connection',
        `Connection: close, Content-Length\r\nContent-Length: ${hidden.length}`,
        hidden,
      ],
      ['in chunks', 'Connection: close\r\nTransfer-Encoding: chunked', chunks],
    ])('has a body %s, which is no request', async (_, headers, body) => {
      expect(await exchangeText(`${method} /shown HTTP/1.1\r\nHost: f\r\n${headers}\r\n\r\n${body}`)).toContain('ok');
      expect(seen).toEqual([`${method} /shown ${hidden}`]);
    });

    it('may have no body', async () => {
      expect(await exchangeText(`${method} /shown HTTP/1.1\r\nHost: f\r\nConnection: close\r\n\r\n`)).toContain('ok');
      expect(seen).toEqual([`${method} /shown `]);
    });
  });
});
