import { systemClock } from '@gantry/base';
import { metricsKinds, resources } from '@gantry/kinds';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UsageSource } from '../agents/usage-source.ts';
import { callServer } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const ROOT = '/apis/metrics.k8s.io/v1beta1';
const API_SERVICE = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io';

let server: TestApiServer;

/** Every node uses half a core. */
const usage: UsageSource = {
  read: async (agents) => {
    const node = { at: systemClock.now(), windowMs: 10_000, cpuNanoCores: 500_000_000, memoryBytes: 2 ** 30 };
    return new Map(agents.map((agent) => [agent.node, { node, pods: new Map() }]));
  },
};

beforeAll(async () => {
  server = await startApiServer({ resources: [...resources, ...metricsKinds], usage });
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a' },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  };
  await send('POST', '/api/v1/nodes', node);
});
afterAll(async () => {
  await server.stop();
});

const send = (method: string, path: string, body: object) =>
  callServer(server, method, path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const get = (path: string, accept?: string) =>
  callServer(server, 'GET', path, accept === undefined ? {} : { headers: { accept } });

describe('metrics.k8s.io', () => {
  it('is found by clients as that of metrics-server is', async () => {
    expect((await get('/apis/metrics.k8s.io')).json).toMatchObject({
      kind: 'APIGroup',
      preferredVersion: { groupVersion: 'metrics.k8s.io/v1beta1' },
    });
    expect((await get(ROOT)).json).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'metrics.k8s.io/v1beta1',
      resources: [
        { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
        { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
      ],
    });
    await expect.poll(async () => (await get(API_SERVICE)).code).toBe(200);
    await expect
      .poll(async () => (await get(API_SERVICE)).json)
      .toMatchObject({
        spec: { group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
        status: { conditions: [{ type: 'Available', status: 'True' }] },
      });
  });

  it('answers kubectl top, which would rather have protobuf', async () => {
    const { code, json } = await get(`${ROOT}/nodes`, 'application/vnd.kubernetes.protobuf,*/*');
    expect(code).toBe(200);
    expect(json).toMatchObject({
      kind: 'NodeMetricsList',
      apiVersion: 'metrics.k8s.io/v1beta1',
      items: [{ metadata: { name: 'a' }, window: '10s', usage: { cpu: '500m', memory: '1Gi' } }],
    });
    expect((await get(`${ROOT}/nodes/a`)).json).toMatchObject({ kind: 'NodeMetrics', usage: { cpu: '500m' } });
  });

  it('prints tables', async () => {
    const { json } = await get(`${ROOT}/nodes`, 'application/json;as=Table;v=v1;g=meta.k8s.io');
    const { columnDefinitions, rows } = json as unknown as {
      columnDefinitions: { name: string }[];
      rows: { cells: string[] }[];
    };
    expect(columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'CPU', 'Memory', 'Window', 'Age']);
    expect(rows[0]?.cells.slice(0, 4)).toEqual(['a', '500m', '1Gi', '10s']);
  });

  it('takes no writes and no watches', async () => {
    const body = { apiVersion: 'metrics.k8s.io/v1beta1', kind: 'NodeMetrics', metadata: { name: 'b' } };
    expect((await send('POST', `${ROOT}/nodes`, body)).code).toBe(405);
    expect((await callServer(server, 'DELETE', `${ROOT}/nodes/a`)).code).toBe(405);
    expect((await get(`${ROOT}/nodes?watch=true`)).code).toBe(405);
  });

  it('asks for rights as every resource does', async () => {
    expect((await callServer(server, 'GET', `${ROOT}/nodes`, { as: 'anonymous' })).code).toBe(403);
    const eve = { as: await server.pki.issue('eve', []) };
    expect((await callServer(server, 'GET', `${ROOT}/nodes`, eve)).code).toBe(403);
    await send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'usage' },
      rules: [{ apiGroups: ['metrics.k8s.io'], resources: ['nodes'], verbs: ['list'] }],
    });
    await send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'usage' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'usage' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
    });
    await expect.poll(async () => (await callServer(server, 'GET', `${ROOT}/nodes`, eve)).code).toBe(200);
    expect((await callServer(server, 'GET', `${ROOT}/nodes/a`, eve)).code).toBe(403);
  });

  it('may be read by all who may view pods, as with metrics-server', async () => {
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregated-metrics-reader';
    expect((await get(role)).json).toMatchObject({
      metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [{ apiGroups: ['metrics.k8s.io'], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
    });
  });

  it('is handed over to a metrics-server that is installed', async () => {
    const { json } = await get(API_SERVICE);
    const spec = {
      ...(json as { spec?: object }).spec,
      service: { namespace: 'kube-system', name: 'metrics-server', port: 443 },
      insecureSkipTLSVerify: true,
    };
    expect((await send('PUT', API_SERVICE, { ...json, spec })).code).toBe(200);
    await expect.poll(async () => (await get(`${ROOT}/nodes`)).code).toBe(503);
    expect((await callServer(server, 'DELETE', API_SERVICE)).code).toBe(200);
    await expect.poll(async () => (await get(`${ROOT}/nodes`)).code).toBe(200);
  });
});
