import { expect, test } from 'vitest';
import { endpoint, service, slice, topology } from '../testing/services.ts';
import { staleFlows, udpTargets } from './stale-flows.ts';

const ports = [{ name: 'dns', port: 53, nodePort: 30_053, protocol: 'UDP' }];
const dns = service({ type: 'NodePort', ports, externalIPs: ['192.0.2.7'] });
const targets = udpTargets(
  dns,
  [slice([endpoint('10.128.4.1')], [{ name: 'dns', port: 1053, protocol: 'UDP' }])],
  topology(),
);

const flow = (to: string, port: number, answeredBy: string) =>
  `udp      17 25 src=10.128.4.9 dst=${to} sport=5353 dport=${port} [UNREPLIED] src=${answeredBy} dst=10.128.4.9 sport=1053 dport=5353 mark=0 use=1`;

test.each<readonly [string, string, boolean]>([
  ['its endpoint is gone', flow('10.96.0.10', 53, '10.128.4.2'), true],
  ['its endpoint is there', flow('10.96.0.10', 53, '10.128.4.1'), false],
  ['it began before there was an endpoint', flow('10.96.0.10', 53, '10.96.0.10'), true],
  ['it came to an external address', flow('192.0.2.7', 53, '10.128.4.2'), true],
  ['it came to a NodePort', flow('10.128.0.3', 30_053, '10.128.4.2'), true],
  ["it is another program's, to the same port elsewhere", flow('198.51.100.1', 30_053, '198.51.100.1'), false],
  ['another port of the address', flow('10.96.0.10', 54, '10.128.4.2'), false],
  ['TCP ends by itself', flow('10.96.0.10', 53, '10.128.4.2').replace('udp      17', 'tcp      6'), false],
])('a flow is stale: %s', (_, line, isStale) => {
  expect(staleFlows(`${line}\n`, targets)).toMatchObject(isStale ? [{ count: 1 }] : []);
});

test('stale flows are counted by the address of the Service and the one that answers', () => {
  const lines = ['10.128.4.2', '10.128.4.3', '10.128.4.2'].map((dead) => flow('10.96.0.10', 53, dead));
  const expected = { destination: '10.96.0.10', port: '53' };
  expect(staleFlows(lines.join('\n'), targets)).toEqual([
    { ...expected, answeredBy: '10.128.4.2', count: 2 },
    { ...expected, answeredBy: '10.128.4.3', count: 1 },
  ]);
});

test('a Service without UDP has no flows to look for', () => {
  expect(udpTargets(service(), [slice([endpoint('10.128.4.1')])], topology()).size).toBe(0);
});
