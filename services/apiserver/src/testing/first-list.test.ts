import { type Clock, systemClock, systemUid } from '@gantry/base';
import { freePort } from '@gantry/base/testing';
import { createGrpcClient } from '@gantry/client';
import { CONFIG_MAPS } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { expect, test } from 'vitest';
import { ensureIncarnation } from '../incarnation.ts';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { callServer } from './call-server.ts';
import { startApiServer } from './start-api-server.ts';
import { createTestPki } from './test-pki.ts';

/** A request that waits for the first list does not give up while the test goes on, however slow the machine is. */
const PATIENT: Clock = { ...systemClock, setTimer: (delayMs, fire) => systemClock.setTimer(delayMs * 1000, fire) };
const PATH = '/api/v1/namespaces/default/configmaps';

test('an API server that has not read the roles yet holds requests up, and forbids none', async () => {
  const store = createMemoryObjectStore();
  await ensureIncarnation(store.etcd, systemUid, new AbortController().signal);
  const pki = await createTestPki(systemClock.now());
  const jane = await pki.issue('jane', []);
  await using first = await startApiServer({ pki, store });
  const group = 'rbac.authorization.k8s.io';
  const role = { kind: 'ClusterRole', rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] };
  const binding = {
    ...{ kind: 'ClusterRoleBinding', roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'jane' } },
    subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
  };
  for (const [resource, object] of Object.entries({ clusterroles: role, clusterrolebindings: binding })) {
    const body = JSON.stringify({ apiVersion: `${group}/v1`, metadata: { name: 'jane' }, ...object });
    const headers = { 'content-type': 'application/json' };
    expect((await callServer(first, 'POST', `/apis/${group}/v1/${resource}`, { headers, body })).code).toBe(201);
  }

  const listed = Promise.withResolvers<void>();
  const own = createMemoryObjectStore({ etcd: store.etcd });
  const readList = own.list.bind(own);
  const list: typeof own.list = async (...request) => {
    await listed.promise;
    return readList(...request);
  };
  const [restPort, grpcPort] = [await freePort(), await freePort()];
  const starting = startApiServer({ pki, clock: PATIENT, store: Object.assign(own, { list }), restPort, grpcPort });
  const second = { ...first, restPort, grpcPort };
  const notReady = async () => (await callServer(second, 'GET', '/readyz')).bytes.toString();
  await expect.poll(() => notReady().catch(() => ''), { timeout: 20_000 }).toContain('[-]watch-cache failed');

  const rest = ['/apis', PATH].map((path) => callServer(second, 'GET', path, { as: jane }));
  using client = createGrpcClient({ addresses: [`localhost:${grpcPort}`], tls: fixedTls(jane), fieldManager: 'test' });
  const grpc = client.list(CONFIG_MAPS, { namespace: 'default' }, new AbortController().signal);
  // Requests that are sent after them, one after the other, are answered: by then all have arrived.
  for (let sent = 0; sent < 10; sent++) await notReady();
  listed.resolve();
  expect((await Promise.all(rest)).map(({ code }) => code)).toEqual([200, 200]);
  expect(await grpc).toMatchObject({ items: [] });
  await (await starting).stop();
});
