import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock, systemRandom } from '@gantry/base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestPki } from '../testing/test-pki.ts';
import type { ServiceObjects } from './resolve-service.ts';
import { createWebhookCaller } from './webhook-caller.ts';

const NO_SERVICES: ServiceObjects = { service: () => undefined, slices: () => [], endpoints: () => undefined };

let server: Server;
let caBundle: string;
const asked = Promise.withResolvers<void>();
const late = Promise.withResolvers<void>();

beforeAll(async () => {
  const pki = await createTestPki(Date.now());
  caBundle = Buffer.from(pki.ca).toString('base64');
  server = createServer(await pki.issue('webhook', []), (request, response) => {
    if (request.url?.startsWith('/many') === true) {
      response.end(`[1234567890123456789,${'0,'.repeat(200_000)}0]`);
      return;
    }
    if (request.url?.startsWith('/failed-many') === true) {
      response.writeHead(500).end(`{"kind":"Status","status":"Failure","message":"m","x":[${'0,'.repeat(200_000)}0]}`);
      return;
    }
    if (request.url?.startsWith('/switched') === true) {
      request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      return;
    }
    if (request.url?.startsWith('/slow') !== true) {
      response.end('{"at":"once"}');
      return;
    }
    asked.resolve();
    void late.promise.then(() => response.end('{"at":"last"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

const caller = createWebhookCaller({ objects: NO_SERVICES, clock: systemClock, random: systemRandom });

function post(path: string): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  return caller.post({
    config: { url: `https://127.0.0.1:${port}/${path}`, caBundle },
    body: {},
    timeoutMs: 30_000,
    signal: new AbortController().signal,
  });
}

afterAll(() => {
  caller.close();
  server.closeAllConnections();
  server.close();
});

it('ends a call whose configuration has meanwhile made room for others', async () => {
  const slow = post('slow');
  await asked.promise;
  for (let index = 0; index < 70; index++) expect(await post(`quick-${index}`)).toEqual({ at: 'once' });
  late.resolve();
  expect(await slow).toEqual({ at: 'last' });
});

it('ends a call whose server switches the protocol', async () => {
  await expect(post('switched')).rejects.toThrow('the server responded with the status code 101');
});

it('refuses a response with more values than a request may have: decoding it would stop all others', async () => {
  await expect(post('many')).rejects.toThrow('Request entity too large: limit is 100000 values');
  await expect(post('failed-many')).rejects.toThrow('an error on the server ("unknown") has prevented the request');
});
