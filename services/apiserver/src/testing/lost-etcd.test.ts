import { systemClock, systemUid } from '@gantry/base';
import { EtcdError } from '@gantry/etcd';
import { expect, test } from 'vitest';
import { ensureIncarnation } from '../incarnation.ts';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import { callServer, watchServer } from './call-server.ts';
import { createFastClock } from './fast-clock.ts';
import { startApiServer } from './start-api-server.ts';
import { createTestPki } from './test-pki.ts';

const NAMESPACES = '/api/v1/namespaces';
const WATCH = `${NAMESPACES}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;

const nobody = (name: string) => ({ name, port: 1, addresses: () => Promise.resolve([]) });

function introspectionOf(identity: string, store: MemoryObjectStore, peers: readonly number[]) {
  return {
    identity,
    address: '10.0.0.1:6444',
    kv: store.etcd.kv,
    members: [],
    quotaBytes: 4000,
    historyMinutes: 5,
    services: [],
    dns: nobody('dns'),
    proxyOf: () => nobody('proxy'),
    podCidr: '10.128.0.0/20',
    agentPort: 1,
    peers: { name: 'apiserver', port: peers[0] ?? 1, addresses: () => Promise.resolve(peers.map(() => '127.0.0.1')) },
  };
}

test('an API server that etcd does not answer is not ready, and its watches end while another one is ready', async () => {
  const store = createMemoryObjectStore();
  await ensureIncarnation(store.etcd, systemUid, new AbortController().signal);
  const pki = await createTestPki(systemClock.now());
  await using other = await startApiServer({ pki, store, introspection: introspectionOf('b', store, []) });
  let peers: readonly number[] = [];
  let answer = async (): Promise<void> => undefined;
  const introspection = introspectionOf('a', store, [other.grpcPort]);
  await using server = await startApiServer({
    pki,
    store: createMemoryObjectStore({ etcd: store.etcd }),
    clock: createFastClock(),
    introspection: {
      ...introspection,
      peers: { ...introspection.peers, addresses: () => Promise.resolve(peers.map(() => '127.0.0.1')) },
    },
    etcd: { members: [() => answer()], giveUpWrites: () => undefined, giveUpReads: () => undefined },
  });
  const readyz = async () => (await callServer(server, 'GET', '/readyz')).bytes.toString();
  const until = async (text: string) => {
    while (!(await readyz()).includes(text));
  };
  const watch = async () => {
    const events = watchServer(server, WATCH);
    expect((await events.next()).done).toBe(false);
    return events;
  };
  const watching = await watch();
  answer = () => Promise.reject(new EtcdError('unavailable', 'no route'));
  await until('[-]etcd failed: does not answer: unavailable: no route');
  // A new watch is served from the cache. No other API server is ready: watches and connections stay.
  const late = await watch();
  for (let asked = 0; asked < 50; asked++) await readyz();
  peers = [other.grpcPort];
  for (const events of [watching, late]) {
    let last = await events.next();
    while (last.done !== true) last = await events.next();
  }
  answer = () => Promise.resolve();
  await until('ok');
  const again = await watch();
  expect((await callServer(server, 'GET', NAMESPACES)).code).toBe(200);
  await again.return(undefined);
});
