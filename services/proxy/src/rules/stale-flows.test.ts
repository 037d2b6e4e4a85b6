import { expect, test } from 'vitest';
import { endpoint, service, slice, topology } from '../testing/services.ts';
import { changedTargets, flowTargets, staleFlows } from './stale-flows.ts';

const ports = [{ name: 'dns', port: 53, nodePort: 30_053, protocol: 'UDP' }];
const dns = service({ type: 'NodePort', ports, externalIPs: ['192.0.2.7'] });
const targets = flowTargets(
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
  ['another protocol', flow('10.96.0.10', 53, '10.128.4.2').replace('udp      17 25', 'tcp      6 9 CLOSE'), false],
])('a flow is stale: %s', (_, line, isStale) => {
  expect(staleFlows(`${line}\n`, targets)).toMatchObject(isStale ? [{ count: 1 }] : []);
});

test('stale flows are counted by the address of the Service and the one that answers', () => {
  const lines = ['10.128.4.2', '10.128.4.3', '10.128.4.2'].map((dead) => flow('10.96.0.10', 53, dead));
  const expected = { destination: '10.96.0.10', port: '53' };
  expect(staleFlows(lines.join('\n'), targets)).toEqual([
    { protocol: 'udp', ...expected, answeredBy: '10.128.4.2', count: 2 },
    { protocol: 'udp', ...expected, answeredBy: '10.128.4.3', count: 1 },
  ]);
});

test('a connection of TCP is stale once its server, which is gone, has reset it', () => {
  const web = flowTargets(service(), [slice([endpoint('10.128.4.1')])], topology());
  const line = (state: string, answeredBy: string) =>
    `tcp      6 9 ${state} src=10.128.4.9 dst=10.96.0.10 sport=40000 dport=80 src=${answeredBy} dst=10.128.4.9 sport=8080 dport=40000 [ASSURED] mark=0 use=1`;
  const lines = [line('CLOSE', '10.128.4.2'), line('CLOSE', '10.128.4.1'), line('ESTABLISHED', '10.128.4.3')];
  expect(staleFlows(lines.join('\n'), web)).toEqual([
    { protocol: 'tcp', destination: '10.96.0.10', port: '80', answeredBy: '10.128.4.2', count: 1 },
  ]);
});

test.each<readonly [string, readonly string[] | undefined, readonly string[], readonly string[]]>([
  ['an endpoint is gone', ['10.128.4.1', '10.128.4.2'], ['10.128.4.1'], ['tcp', 'udp']],
  ['one is replaced', ['10.128.4.1'], ['10.128.4.2'], ['tcp', 'udp']],
  ['one has come', ['10.128.4.1'], ['10.128.4.1', '10.128.4.2'], ['udp']],
  ['the Service is new', undefined, ['10.128.4.1'], ['udp']],
  ['nothing has changed', ['10.128.4.1'], ['10.128.4.1'], []],
])('flows are looked for when %s', (_, before, after, protocols) => {
  const of = (addresses: readonly string[]) =>
    new Map(['tcp', 'udp'].map((protocol) => [`${protocol} 10.96.0.10:53`, new Set(addresses)]));
  const changed = changedTargets(before === undefined ? undefined : of(before), of(after));
  expect([...changed.keys()].map((target) => target.split(' ')[0])).toEqual(protocols);
});
