import { once } from 'node:events';
import http2 from 'node:http2';
import { expect, test } from 'vitest';
import { callServer, watchServer } from './testing/call-server.ts';
import { startApiServer } from './testing/start-api-server.ts';

const WATCH =
  '/api/v1/namespaces?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

test('before the load balancer is replaced, watches and connections of REST clients end, and new ones are served', async () => {
  await using server = await startApiServer();
  const { cert, key } = server.admin;
  const session = http2.connect(server.url, { ca: server.pki.ca, cert, key });
  await once(session, 'connect');
  const watching = watchServer(server, WATCH);
  expect((await watching.next()).done).toBe(false);

  const closed = once(session, 'close');
  server.signal('SIGWINCH');
  await closed;
  while (!(await watching.next()).done);

  const again = watchServer(server, WATCH);
  expect((await again.next()).done).toBe(false);
  await again.return(undefined);
  expect((await callServer(server, 'GET', '/readyz')).code).toBe(200);
});
