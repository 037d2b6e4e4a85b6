import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { formatMicroTime, systemClock } from '@gantry/base';
import { createGrpcClient, type ObjectWrite } from '@gantry/client';
import { CLUSTER_ROLE_BINDINGS, CONFIG_MAPS, type KubeObject, LEASES, NODES, PODS } from '@gantry/objects';
import { fixedTls, type TlsMaterial } from '@gantry/tls';
import { expect, it } from 'vitest';
import { callServer } from './call-server.ts';
import type { CrowdData } from './crowd.ts';
import { startApiServer } from './start-api-server.ts';

const signal = new AbortController().signal;
const BINDING: KubeObject & Record<string, unknown> = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'crowd' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'crowd' }],
};

it('heartbeats and leaders are served while 200 clients list everything and 1,000 anonymous connections stand open', {
  timeout: 600_000,
}, async () => {
  await using server = await startApiServer();
  const clientOf = (tls: TlsMaterial) =>
    createGrpcClient({ addresses: [`localhost:${server.grpcPort}`], tls: fixedTls(tls), fieldManager: 'test' });
  using admin = clientOf(server.admin);
  using node = clientOf(await server.pki.issue('system:node:n', ['system:nodes']));
  using leader = clientOf(await server.pki.issue('system:kube-controller-manager', []));
  await admin.create(CLUSTER_ROLE_BINDINGS, BINDING as never, signal);
  const writes = Array.from({ length: 1000 }, (_, i): ObjectWrite => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c-${i}` } };
    return { verb: 'create', resource: CONFIG_MAPS, namespace: 'default', object };
  });
  expect((await admin.batch(writes, signal)).filter(({ ok }) => !ok)).toEqual([]);
  const key = { namespace: 'kube-node-lease', name: 'n' };
  await node.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }, signal);
  await node.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...key } }, signal);

  const { cert, key: privateKey } = await server.pki.issue('crowd', []);
  const crowd: CrowdData = {
    port: server.restPort,
    ca: Buffer.from(server.pki.ca),
    cert,
    key: privateKey,
    connections: 1000,
    clients: 200,
    path: '/api/v1/configmaps',
  };
  const worker = new Worker(new URL('./crowd.ts', import.meta.url), { workerData: crowd });
  await once(worker, 'message');
  let codes: readonly number[] | undefined;
  worker.once('message', (message: readonly number[]) => {
    codes = message;
  });
  worker.postMessage('list');
  let beats = 0;
  while (codes === undefined) {
    const renewTime = formatMicroTime(systemClock.now());
    await node.patch(LEASES, key, { merge: { spec: { renewTime } } }, signal);
    await leader.list(PODS, { namespace: 'default' }, signal);
    beats += 1;
  }
  await worker.terminate();
  expect(codes).toHaveLength(200);
  expect(codes.filter((code) => code !== 200 && code !== 429)).toEqual([]);
  expect(codes).toContain(200);
  expect(beats).toBeGreaterThan(1);
  const text = (await callServer(server, 'GET', '/metrics')).bytes.toString();
  expect(text).toContain('apiserver_flowcontrol_dispatched_requests_total{priority_level="node-high"');
  expect(text).not.toMatch(/rejected_requests_total\{priority_level="(node-high|leader-election|workload-high)"/);
  // The lists have waited for seats. Without flow control they would have delayed all other requests.
  expect(text).toMatch(
    /request_wait_duration_seconds_count\{priority_level="global-default",flow_schema="global-default"/,
  );
});
