import type { Endpoint } from '@gantry/objects';
import { expect, test } from 'vitest';
import { endpoint, service, slice, topology } from '../testing/services.ts';
import { answerHealthCheck, planHealthCheck } from './health-checks.ts';

const NODES = ['a', 'b'].map((end, index) => ({ name: `node-${end}`, address: `10.128.12.${3 + index}`, zone: '' }));
const where = topology(...NODES);
const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_500 };
const on = (address: string, nodeName: string, conditions?: Endpoint['conditions']) =>
  endpoint(address, { nodeName, ...(conditions === undefined ? {} : { conditions }) });

const ENDPOINTS = [
  on('10.128.4.1', 'node-a'),
  on('10.128.4.2', 'node-a'),
  on('10.128.4.3', 'node-b', { ready: false, serving: true, terminating: true }),
  on('10.200.0.1', 'elsewhere'),
];

test('ready pods are counted for the host and for each of its Nodes, once where a Service has several ports', () => {
  const ports = [
    { name: 'http', port: 80 },
    { name: 'http', port: 81 },
  ];
  expect(planHealthCheck(service({ ...local, ports }), [slice(ENDPOINTS)], where)).toEqual({
    port: 30_500,
    namespace: 'default',
    name: 'web',
    onHost: 2,
    onNodes: { '10.128.12.3': 2 },
  });
});

test.each([
  ['the policy Cluster', service({ ...local, externalTrafficPolicy: 'Cluster' })],
  ['another type', service({ ...local, type: 'NodePort' })],
  ['no port', service({ ...local, healthCheckNodePort: 0 })],
])('a Service has no health check: %s', (_, object) => {
  expect(planHealthCheck(object, [slice(ENDPOINTS)], where)).toBeUndefined();
});

test.each<readonly [string, 'healthy' | 'ill', number, number]>([
  ['10.128.12.3', 'healthy', 200, 2],
  ['10.128.12.4', 'healthy', 503, 0],
  ['192.0.2.2', 'healthy', 200, 2],
  ['192.0.2.2', 'ill', 503, 2],
])('a client of %s, by a proxy that is %s, is answered %d with %d endpoints', (address, proxy, code, count) => {
  const check = planHealthCheck(service(local), [slice(ENDPOINTS)], where);
  if (check === undefined) throw new Error('no check');
  const answer = answerHealthCheck(check, { address, podCidr: where.podCidr, proxy });
  expect(answer.code).toBe(code);
  expect(answer.headers).toEqual({
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'x-load-balancing-endpoint-weight': String(count),
  });
  expect(JSON.parse(answer.body)).toEqual({
    service: { namespace: 'default', name: 'web' },
    localEndpoints: count,
    serviceProxyHealthy: proxy === 'healthy',
  });
});
