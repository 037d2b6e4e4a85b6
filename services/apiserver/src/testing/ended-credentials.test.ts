import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import http2 from 'node:http2';
import { connect, type TLSSocket } from 'node:tls';
import { createGrpcClient } from '@gantry/client';
import { CONFIG_MAPS } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callServer } from './call-server.ts';
import { createFastClock } from './fast-clock.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const AFTER_ITS_END = 8 * 86_400_000;
const PATH = '/api/v1/namespaces/default/configmaps';
const clock = createFastClock();
let server: TestApiServer;

beforeAll(async () => {
  server = await startApiServer({ clock });
});
afterAll(() => server.stop());
beforeEach(() => {
  clock.aheadMs = 0;
});

describe('a client certificate that has expired', () => {
  it('is refused on a connection of HTTP/1.1 on which it was good', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    expect((await callServer(server, 'GET', PATH, { agent })).code).toBe(200);
    clock.aheadMs = AFTER_ITS_END;
    expect((await callServer(server, 'GET', PATH, { agent })).code).toBe(401);
    clock.aheadMs = 0;
    expect((await callServer(server, 'GET', PATH, { agent })).code).toBe(200);
    agent.destroy();
  });

  it('is refused on a connection of HTTP/2 on which it was good', async () => {
    const { ca, cert, key } = server.admin;
    const session = http2.connect(server.url, { ca, cert, key });
    const get = async (): Promise<number> => {
      const stream = session.request({ ':path': PATH });
      const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    };
    expect(await get()).toBe(200);
    clock.aheadMs = AFTER_ITS_END;
    expect(await get()).toBe(401);
    session.destroy();
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('is refused when a session of %s is resumed', async (version) => {
    const { ca, cert, key } = server.admin;
    const statusOver = async (session: Buffer | undefined) => {
      const options = { port: server.restPort, host: '127.0.0.1', ca, maxVersion: version, minVersion: version };
      // A resumed TLS session has the certificate of the first session.
      const own = session === undefined ? { cert, key } : { session };
      const socket: TLSSocket = connect({ ...options, ...own });
      const next = once(socket, 'session') as Promise<[Buffer]>;
      await once(socket, 'secureConnect');
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      const reused = socket.isSessionReused();
      const [ticket] = session === undefined ? await next : [session];
      socket.destroy();
      return { status: Number(answer.toString().split(' ')[1]), reused, ticket };
    };
    const first = await statusOver(undefined);
    expect(first).toMatchObject({ status: 200, reused: false });
    const good = await statusOver(first.ticket);
    clock.aheadMs = AFTER_ITS_END;
    const late = await statusOver(first.ticket);
    expect(good).toMatchObject({ status: 200, reused: true });
    expect(late).toMatchObject({ status: 401, reused: true });
  });

  it('ends its watches', async () => {
    const { ca, cert, key } = server.admin;
    const request = https.get(`${server.url}${PATH}?watch=true`, { ca, cert, key, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
    clock.aheadMs = AFTER_ITS_END;
    await once(response, 'end');
  });

  it('is refused over gRPC on a connection on which it was good, and ends its watches', async () => {
    const signal = new AbortController().signal;
    using client = createGrpcClient({
      addresses: [`localhost:${server.grpcPort}`],
      tls: fixedTls(server.admin),
      fieldManager: 'test',
    });
    const list = () => client.list(CONFIG_MAPS, { namespace: 'default' }, signal);
    await list();
    const watch = client.watch(CONFIG_MAPS, { namespace: 'default', sendInitialEvents: true }, signal);
    const events = watch[Symbol.asyncIterator]();
    await events.next();
    clock.aheadMs = AFTER_ITS_END;
    await expect(list()).rejects.toMatchObject({ code: 401 });
    const rest = async (): Promise<void> => {
      let next = await events.next();
      while (next.done !== true) next = await events.next();
    };
    await expect(rest()).rejects.toMatchObject({ code: 401 });
  });
});

describe('a service account that was deleted', () => {
  it('ends the watches of its tokens', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const json = { 'content-type': 'application/json' };
    const post = async (path: string, object: object) => {
      const reply = await callServer(server, 'POST', path, { headers: json, body: JSON.stringify(object) });
      expect(reply.code).toBe(201);
      return reply.json as unknown as { status: { token: string } };
    };
    await post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'watcher' } });
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    await post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      ...rbac,
      kind: 'RoleBinding',
      metadata: { name: 'watcher' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'watcher', namespace: 'default' }],
    });
    const { status } = await post(`${accounts}/watcher/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [] },
    });
    const headers = { authorization: `Bearer ${status.token}` };
    const request = https.get(`${server.url}${PATH}?watch=true`, { ca: server.pki.ca, headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
    expect((await callServer(server, 'DELETE', `${accounts}/watcher`)).code).toBe(200);
    await once(response, 'end');
  });
});
