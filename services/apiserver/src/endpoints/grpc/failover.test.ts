import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { must, setPatientTimer, systemClock } from '@gantry/base';
import { findResource } from '@gantry/kinds';
import { CONFIG_MAPS, type ConfigMap, isReason } from '@gantry/objects';
import { createGrpcClient, type GrpcClient, type WatchEvent } from '@gantry/client';
import { fixedTls } from '@gantry/tls';
import { NOT_AUDITED } from '../../audit/index.ts';
import { describe, expect, it } from 'vitest';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';
import { createTestPki } from '../../testing/test-pki.ts';

const { signal } = new AbortController();

/** Starts two servers with the same CA. They do not share their objects. */
async function twoServers(): Promise<readonly [TestApiServer, TestApiServer]> {
  const pki = await createTestPki(systemClock.now());
  return [await startApiServer({ pki }), await startApiServer({ pki })];
}

/** Whether a server has the object, read through its registry. */
async function holds({ registry }: TestApiServer): Promise<boolean> {
  const user = { name: 'x', uid: '', groups: ['system:masters', 'system:authenticated'], extra: {} };
  const definition = must(findResource(CONFIG_MAPS), 'configmaps');
  const target = { definition, namespace: 'default', name: 'before', subresource: '' };
  try {
    await registry.get({ user, signal, fence: undefined, warn: () => undefined, audit: NOT_AUDITED }, target, '');
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

function clientOf(port: number, server: TestApiServer) {
  return createGrpcClient({ addresses: [`localhost:${port}`], tls: fixedTls(server.admin), fieldManager: 'test' });
}

function watchOf(client: GrpcClient) {
  const options = { namespace: 'default' };
  return client.watch(CONFIG_MAPS, options, signal)[Symbol.asyncIterator]();
}

/** Rejects if the work takes longer. As for the client, time in which this process does not run counts little. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = setPatientTimer(systemClock, limitMs, () =>
    late.reject(new RangeError(`took more than ${limitMs} ms`)),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}

function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a gRPC client with several servers', () => {
  it('asks the other one within seconds when its server stops', async () => {
    const [first, second] = await twoServers();
    using client = createGrpcClient({
      addresses: [first, second].map(({ grpcPort }) => `localhost:${grpcPort}`),
      tls: fixedTls(first.admin),
      fieldManager: 'test',
      lookup: async () => ['127.0.0.1'],
    });
    const create = (name: string) => {
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } };
      return client.create(CONFIG_MAPS, object, signal);
    };
    const made = await create('before');
    const read = () => client.get(CONFIG_MAPS, { namespace: 'default', name: 'before' }, signal);
    const [holder, other] = (await holds(first)) ? [first, second] : [second, first];
    expect((await read()).metadata.uid).toBe(made.metadata.uid);
    await holder.stop();
    // The other server does not have the object, so NotFound shows that it has responded.
    await expect(within(5000, read())).rejects.toSatisfy((error) => isReason(error, 'NotFound'));
    await create('after');
    await other.stop();
  });

  it('notices during a watch that its server is frozen', async () => {
    await using server = await startApiServer();
    const sockets: Socket[] = [];
    const proxy = createServer((socket) => {
      const upstream = connect(server.grpcPort, 'localhost');
      sockets.push(socket, upstream);
      socket
        .on('error', () => undefined)
        .pipe(upstream.on('error', () => undefined))
        .pipe(socket);
    });
    await once(proxy.listen(0), 'listening');
    const { port } = proxy.address() as { port: number };
    using client = clientOf(port, server);
    const events = watchOf(client);
    await events.next();
    for (const socket of sockets) socket.unpipe().pause();
    await expect(within(10_000, events.next())).rejects.toSatisfy((error) => isReason(error, 'ServiceUnavailable'));
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });

  it('keeps its connection when its own process stalls after a ping', async () => {
    await using server = await startApiServer();
    using client = clientOf(server.grpcPort, server);
    const events = watchOf(client);
    await events.next();
    // The ping becomes due during the first stall, and the second stall follows in the same turn.
    setTimeout(() => stall(1100), 50);
    setTimeout(() => stall(900), 1100);
    await delay(1200);
    const object: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'after', namespace: 'default' },
    };
    await client.create(CONFIG_MAPS, object, signal);
    const [event] = must((await events.next()).value as readonly WatchEvent<ConfigMap>[] | undefined, 'events');
    expect(event).toMatchObject({ object: { metadata: { name: 'after' } } });
  });
});
