import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PODS } from '@gantry/objects';
import { systemClock } from '@gantry/base';
import { createHttpClient } from '@gantry/client';
import { fixedTls } from '@gantry/tls';
import { expect, it } from 'vitest';
import { createTestPki } from './test-pki.ts';

it('tells why a watch over HTTPS was refused, though the next one would be served', async () => {
  const pki = await createTestPki(systemClock.now());
  const tls = await pki.issue('server', [], ['localhost']);
  let asked = 0;
  const server = createServer({ ...tls }, (_, response) => {
    asked += 1;
    if (asked === 1) response.writeHead(503).end('out of order');
    else response.writeHead(200).flushHeaders();
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({ server: `https://localhost:${port}`, tls: fixedTls(tls) });
  const stop = new AbortController();
  const watch = client.watch(PODS, {}, stop.signal);
  const first = watch[Symbol.asyncIterator]().next();
  await expect(first).rejects.toMatchObject({ reason: 'ServiceUnavailable', message: 'out of order' });
  expect(asked).toBe(1);
  stop.abort();
  client[Symbol.dispose]();
  server.close();
  server.closeAllConnections();
});
