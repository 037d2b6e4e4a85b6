import { expect, test } from 'vitest';
import { endpoint, service, slice, topology } from '../testing/services.ts';
import { changedTargets, flowTargets, formatClients, readClients, staleFlows } from './stale-flows.ts';

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

/** The output of nft 1.1.3. */
const LISTING = `table ip other {
	set clients-10800/default/web/tcp/http/10.128.4.1/8080 {
		type ipv4_addr
		elements = { 10.0.0.9 expires 5s }
	}
}
table ip gantry-a {
	set cluster-addresses {
		type ipv4_addr
		elements = { 10.96.0.1, 10.96.0.10 }
	}
	set clients-10800/default/web/tcp/http/10.128.4.1/8080 {
		type ipv4_addr
		size 65535
		flags dynamic,timeout
		timeout 3h
		elements = { 10.128.4.7 expires 2h59m58s988ms,
			     10.128.4.8 timeout 5m expires 1m39s }
	}
	set clients-10800/default/web/tcp/http/10.128.4.2/8080 {
		type ipv4_addr
		flags dynamic,timeout
		timeout 3h
	}
	set pods-of/a {
		type ipv4_addr
		elements = { 10.128.4.1 expires 3s }
	}
}
`;
const [ONE, OTHER] = ['1', '2'].map((end) => `clients-10800/default/web/tcp/http/10.128.4.${end}/8080`);

test("clients are those of the table's own sets for affinity, with the rest of their time", () => {
  expect(readClients(LISTING, 'gantry-a')).toEqual(
    new Map([
      [ONE, ['10.128.4.7 expires 2h59m58s988ms', '10.128.4.8 expires 1m39s']],
      [OTHER, []],
    ]),
  );
  expect(readClients(LISTING, 'gantry-b')).toEqual(new Map());
});

test('a new table gets them back where it has the set', () => {
  const clients = readClients(LISTING, 'gantry-a');
  expect(formatClients('gantry-a', clients, new Map([[ONE ?? '', '']]))).toBe(
    `add element ip gantry-a ${ONE} { 10.128.4.7 expires 2h59m58s988ms, 10.128.4.8 expires 1m39s }\n`,
  );
  expect(formatClients('gantry-a', clients, new Map([[OTHER ?? '', '']]))).toBe('');
});
