import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { UNLOGGED } from '../../audit/index.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import { createAggregatedApis } from './aggregated-handler.ts';
import type { ApiServiceIndex, RemoteApi } from '../../aggregation/api-service-index.ts';
import type { RemoteServers } from '../../aggregation/remote-servers.ts';

const REMOTE: RemoteApi = {
  name: 'v1.g.example.com',
  group: 'g.example.com',
  version: 'v1',
  service: { namespace: 'n', name: 's', port: 443 },
  caBundle: '',
  insecureSkipTLSVerify: true,
  isAvailable: true,
};

it('gives a server that hangs five seconds to say what it serves', async () => {
  const clock = new ManualClock();
  const asked = Promise.withResolvers<void>();
  const extension = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
  const backend = () => ({
    scheme: 'http' as const,
    host: '127.0.0.1',
    port: (extension.address() as AddressInfo).port,
  });
  const apis = createAggregatedApis({
    index: { remote: () => REMOTE } as unknown as ApiServiceIndex,
    servers: { backend } as unknown as RemoteServers,
    authorizer: { authorize: () => undefined, authorizePath: () => undefined },
    clock,
  });
  const front = createServer((req, res) => {
    const user = { name: 'jane', uid: '', groups: [], extra: {} };
    const about = { method: 'GET', path: req.url ?? '', query: new URLSearchParams(), user };
    const exchange: AuthenticatedExchange = {
      attributes: { kind: 'path', verb: 'get', path: req.url ?? '' },
      begun: () => undefined,
      req,
      res,
      ...about,
      signal: new AbortController().signal,
      warnings: new Set(),
      audit: UNLOGGED,
      onBody: () => undefined,
      keptBytes: () => 0,
    };
    void apis.serve(exchange, REMOTE);
  }).listen(0, '127.0.0.1');
  await Promise.all([extension, front].map((server) => once(server, 'listening')));
  const answered = new Promise<string>((resolve, reject) => {
    get(
      { host: '127.0.0.1', port: (front.address() as AddressInfo).port, path: '/apis/g.example.com/v1' },
      (response) => {
        let text = `${response.statusCode ?? 0} `;
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve(text));
      },
    ).on('error', reject);
  });
  await asked.promise;
  await clock.advance(5000);
  expect(await answered).toBe('503 error trying to reach service: context deadline exceeded\n');
  for (const server of [front, extension]) {
    server.close();
    server.closeAllConnections();
  }
});
