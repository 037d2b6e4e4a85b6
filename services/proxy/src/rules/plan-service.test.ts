import type { Endpoint, Service } from '@gantry/objects';
import { expect, test } from 'vitest';
import { endpoint, NODE_A, NODE_B, service, slice, topology } from '../testing/services.ts';
import type { Fragment } from './fragment.ts';
import { dependsOnOrigin, planService } from './plan-service.ts';
import { planPodsOf } from './pods-of-nodes.ts';
import type { LocalNode } from './topology.ts';

const NODE_PORT = [{ name: 'http', port: 80, nodePort: 30_080, protocol: 'TCP', targetPort: 8080 }];
const ON_A = endpoint('10.128.4.1', { nodeName: 'node-a' });
const ON_B = endpoint('10.128.4.2', { nodeName: 'node-b' });
const TO_A = 'meta l4proto tcp dnat to 10.128.4.1:8080';
const TO_BOTH =
  'meta l4proto tcp dnat ip addr . port to numgen random mod 2 map { 0 : 10.128.4.1 . 8080, 1 : 10.128.4.2 . 8080 }';
const WEB = 'default/web/tcp/http';

function plan(object: Service, endpoints: readonly Endpoint[], ...nodes: readonly LocalNode[]) {
  return planService(object, [slice(endpoints)], topology(...nodes));
}

/** Returns the elements of a map or set as nft writes them. */
function elements({ elements: all }: Fragment, container: string): readonly string[] {
  return all
    .filter((element) => element.container === container)
    .map(({ key, value }) => (value === '' ? key : `${key} : ${value}`));
}

/** Follows a `goto` from a map to the rules. */
function rulesAt(fragment: Fragment, container: string): readonly string[] {
  const [element = ''] = elements(fragment, container);
  return fragment.chains.get(element.split(' : goto ')[1] ?? '') ?? [];
}

test('a ClusterIP leads to one of the ready endpoints, by chance', () => {
  const fragment = plan(service(), [ON_A, ON_B]);
  expect(elements(fragment, 'services')).toEqual(['10.96.0.10 . tcp . 80 : goto draw/2']);
  expect(rulesAt(fragment, 'services')).toEqual([
    'meta l4proto { tcp, udp, sctp } dnat ip addr . port to ip daddr . meta l4proto . th dport . numgen random mod 2 map @endpoints',
  ]);
  expect(elements(fragment, 'endpoints')).toEqual([
    '10.96.0.10 . tcp . 80 . 0 : 10.128.4.1 . 8080',
    '10.96.0.10 . tcp . 80 . 1 : 10.128.4.2 . 8080',
  ]);
  expect(elements(fragment, 'cluster-addresses')).toEqual(['10.96.0.10']);
  expect(elements(fragment, 'own-addresses')).toEqual(['10.128.4.1 . 10.128.4.1', '10.128.4.2 . 10.128.4.2']);
  expect(elements(fragment, 'no-endpoints')).toEqual([]);
});

test.each<readonly [string, Service]>([
  ['a headless one', service({ clusterIP: 'None' })],
  ['one without an address', service({ clusterIP: '' })],
  ['an ExternalName', service({ type: 'ExternalName', externalName: 'example.org' })],
  ['one of IPv6 alone', service({ clusterIP: 'fd00::1', clusterIPs: ['fd00::1'] })],
])('no rules are made for a Service without an address to rewrite: %s', (_, object) => {
  expect(plan(object, [ON_A])).toEqual({ elements: [], chains: new Map(), sets: new Map() });
});

test('each port has endpoints of its own, found by name and protocol', () => {
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    { name: 'signals', port: 7, protocol: 'SCTP' },
  ];
  const slicePorts = [
    { name: 'dns', port: 1053, protocol: 'UDP' },
    { name: 'dns-tcp', port: 1054, protocol: 'TCP' },
    { name: 'signals', port: 1007, protocol: 'SCTP' },
  ];
  const fragment = planService(service({ ports }), [slice([ON_A], slicePorts)], topology());
  expect(elements(fragment, 'endpoints')).toEqual([
    '10.96.0.10 . udp . 53 . 0 : 10.128.4.1 . 1053',
    '10.96.0.10 . tcp . 53 . 0 : 10.128.4.1 . 1054',
    '10.96.0.10 . sctp . 7 . 0 : 10.128.4.1 . 1007',
  ]);
});

const TERMINATING = { ready: false, serving: true, terminating: true };
const NOT_SERVING = { ready: false, serving: false, terminating: true };
const UNREADY = { ready: false, serving: false, terminating: false };

test.each<readonly [string, readonly Endpoint[], readonly string[]]>([
  ['ready ones before those that terminate', [{ ...ON_A, conditions: TERMINATING }, ON_B], ['10.128.4.2']],
  ['those that terminate and serve when none is ready', [{ ...ON_A, conditions: TERMINATING }], ['10.128.4.1']],
  ['no condition at all counts as ready', [{ addresses: ['10.128.4.1'] }], ['10.128.4.1']],
  [
    'none that does not serve',
    [
      { ...ON_A, conditions: NOT_SERVING },
      { ...ON_B, conditions: UNREADY },
    ],
    [],
  ],
  [
    'the living one of an address that is listed twice',
    [ON_A, { ...ON_A, conditions: TERMINATING }, ON_B],
    ['10.128.4.1', '10.128.4.2'],
  ],
  [
    'the living one also when it comes second',
    [{ ...ON_A, conditions: TERMINATING }, ON_A, ON_B],
    ['10.128.4.1', '10.128.4.2'],
  ],
  ['none of the control network, of the metadata service, of the host', closed(), []],
])('endpoints are chosen: %s', (_, endpoints, addresses) => {
  expect(targetsOf(plan(service(), endpoints))).toEqual(addresses);
});

/** Returns the addresses that a ClusterIP leads to. */
function targetsOf(fragment: Fragment): readonly string[] {
  return elements(fragment, 'endpoints').map((element) => element.split(' : ')[1]?.split(' . ')[0] ?? '');
}

function closed(): readonly Endpoint[] {
  return ['10.128.240.7', '169.254.169.254', '100.100.100.200', '127.0.0.1', 'not-an-address'].map((address) =>
    endpoint(address),
  );
}

test('without endpoints all ways to a Service reject, and no chain is made', () => {
  const object = service({ type: 'LoadBalancer', ports: NODE_PORT, externalIPs: ['192.0.2.7'] }, ['192.0.2.8']);
  const fragment = plan(object, [{ ...ON_A, conditions: UNREADY }]);
  expect(elements(fragment, 'no-endpoints')).toEqual([
    '10.96.0.10 . tcp . 80 : goto reject-packet',
    '192.0.2.7 . tcp . 80 : goto reject-packet',
    '192.0.2.8 . tcp . 80 : goto reject-packet',
  ]);
  expect(elements(fragment, 'no-endpoint-node-ports')).toEqual(['tcp . 30080 : goto reject-packet']);
  expect([elements(fragment, 'services'), elements(fragment, 'node-ports'), fragment.chains.size]).toEqual([[], [], 0]);
});

test('NodePorts, external addresses and load balancers lead to the same endpoints, with a mark for masquerading', () => {
  const object = service({ type: 'LoadBalancer', ports: NODE_PORT, externalIPs: ['192.0.2.7'] }, ['192.0.2.8']);
  const fragment = plan(object, [ON_A]);
  expect(elements(fragment, 'services').slice(1)).toEqual([
    '192.0.2.7 . tcp . 80 : goto draw-external/1',
    '192.0.2.8 . tcp . 80 : goto draw-external/1',
  ]);
  expect(fragment.chains.get('draw-external/1')?.[0]).toBe('meta mark set meta mark or 0x20000');
  expect(targetsOf(fragment)).toEqual(['10.128.4.1', '10.128.4.1', '10.128.4.1']);
  expect(rulesAt(fragment, 'node-ports')).toEqual([
    'meta mark set meta mark or 0x20000',
    'meta l4proto { tcp, udp, sctp } dnat ip addr . port to meta l4proto . th dport . numgen random mod 1 map @node-port-endpoints',
  ]);
  expect(elements(fragment, 'node-port-endpoints')).toEqual(['tcp . 30080 . 0 : 10.128.4.1 . 8080']);
});

test.each<readonly [string, readonly string[], readonly string[]]>([
  ['of the control network', ['10.128.240.2'], []],
  ['of a Node or a pod', ['10.128.0.3', '10.128.4.9'], []],
  ['of another Service', ['10.96.0.53'], []],
  ['of the host itself', ['127.0.0.1', '169.254.169.254'], []],
  ['of elsewhere', ['192.0.2.7'], ['192.0.2.7 . tcp . 80 : goto draw-external/1']],
])('a Service takes no external addresses away from the cluster: %s', (_, externalIPs, expected) => {
  expect(elements(plan(service({ externalIPs: [...externalIPs] }), [ON_A]), 'services').slice(1)).toEqual(expected);
});

test('many external addresses do not multiply the endpoints', () => {
  const externalIPs = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
  const endpoints = Array.from({ length: 100 }, (_, i) => endpoint(`10.128.4.${i}`));
  const fragment = plan(service({ externalIPs }), endpoints);
  expect(elements(fragment, 'services')).toHaveLength(101);
  expect(fragment.elements.length).toBeLessThan(400);
  expect(fragment.chains.get(`external/${WEB}`)).toEqual(['meta mark set meta mark or 0x20000', `goto cluster/${WEB}`]);
});

test('an address with leading zeros, which nft would read as octal, is none', () => {
  expect(targetsOf(plan(service(), [ON_A, endpoint('012.128.240.5')]))).toEqual(['10.128.4.1']);
});

test("a load balancer may have the host's address among the pods, and none of the control network", () => {
  const fragment = plan(service({ type: 'LoadBalancer' }, ['10.128.0.1', '10.128.240.1']), [ON_A]);
  expect(elements(fragment, 'services').slice(1)).toEqual(['10.128.0.1 . tcp . 80 : goto draw-external/1']);
});

test("a load balancer in the mode Proxy is none of the host's addresses", () => {
  const object = service({ type: 'LoadBalancer' });
  object.status = { loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'Proxy' }, { hostname: 'example.org' }] } };
  expect(elements(plan(object, [ON_A]), 'services')).toHaveLength(1);
});

test.each<readonly [string, readonly string[], readonly string[]]>([
  ['one range', ['198.51.100.0/24'], ['ip saddr 198.51.100.0/24 return', 'drop']],
  ['white space around one', [' 198.51.100.0/24 '], ['ip saddr 198.51.100.0/24 return', 'drop']],
  ['everybody', ['198.51.100.0/24', '0.0.0.0/0'], []],
  ['none of IPv4', ['fd00::/8'], []],
  [
    'one with a node in it: that node may come from the balancer',
    ['10.128.0.0/24'],
    ['ip saddr 10.128.0.0/24 return', 'ip saddr 192.0.2.8 return', 'drop'],
  ],
])('source ranges of a load balancer: %s', (_, loadBalancerSourceRanges, rules) => {
  const object = service({ type: 'LoadBalancer', loadBalancerSourceRanges: [...loadBalancerSourceRanges] }, [
    '192.0.2.8',
  ]);
  expect(rulesAt(plan(object, [ON_A], NODE_A), 'source-checked')).toEqual(rules);
});

test('the internal policy Local: pods reach what is on their Node, the host what is on any of its Nodes', () => {
  const away = endpoint('10.200.0.1', { nodeName: 'elsewhere' });
  const fragment = plan(service({ internalTrafficPolicy: 'Local' }), [ON_A, away], NODE_A, NODE_B);
  expect(rulesAt(fragment, 'services')).toEqual([
    `ip saddr @pods-of/node-a goto local/${WEB}/on/node-a`,
    'ip saddr 10.128.0.0/20 return',
    `goto local/${WEB}`,
  ]);
  expect(fragment.chains.get(`local/${WEB}`)).toEqual([TO_A]);
  // The remaining packets are for a Node without an endpoint.
  expect(elements(fragment, 'no-endpoints')).toEqual(['10.96.0.10 . tcp . 80 : drop']);
});

test('the external policy Local: other Nodes are as seen from outside, the own one leads to all', () => {
  const object = service({ type: 'NodePort', ports: NODE_PORT, externalTrafficPolicy: 'Local' });
  const fragment = plan(object, [ON_A], NODE_A, NODE_B);
  expect(rulesAt(fragment, 'node-ports')).toEqual([
    `ip daddr 10.128.0.3 ip saddr 10.128.0.0/20 ip saddr != @pods-of/node-a goto local/${WEB}/on/node-a`,
    'ip daddr 10.128.0.4 ip saddr 10.128.0.0/20 ip saddr != @pods-of/node-b return',
    `ip saddr 10.128.0.0/20 goto cluster/${WEB}`,
    `fib saddr type local meta mark set meta mark or 0x20000 goto cluster/${WEB}`,
    `goto local/${WEB}`,
  ]);
  expect(elements(fragment, 'no-endpoint-node-ports')).toEqual(['tcp . 30080 : drop']);
  expect(rulesAt(fragment, 'services')).toEqual([TO_A]);
});

const ANY_OF_TWO = plan(service(), [ON_A, ON_B]).chains.get('draw/2') ?? [];
const inZone = (zone: string) => ({ forZones: [{ name: zone }] });

test.each<readonly [string, readonly Endpoint[], readonly string[]]>([
  [
    'zones',
    [
      { ...ON_A, hints: inZone('east') },
      { ...ON_B, hints: inZone('west') },
    ],
    [
      `ip saddr @pods-of/node-a goto cluster/${WEB}/from/node-a`,
      `ip saddr @pods-of/node-b goto cluster/${WEB}/from/node-b`,
      TO_BOTH,
    ],
  ],
  ['an endpoint without a hint makes all of them void', [{ ...ON_A, hints: inZone('east') }, ON_B], ANY_OF_TWO],
  [
    'a zone without an endpoint gets all',
    [
      { ...ON_A, hints: inZone('east') },
      { ...ON_B, hints: inZone('south') },
    ],
    [`ip saddr @pods-of/node-a goto cluster/${WEB}/from/node-a`, TO_BOTH],
  ],
  [
    'nodes before zones',
    [
      { ...ON_A, hints: { ...inZone('east'), forNodes: [{ name: 'node-b' }] } },
      { ...ON_B, hints: { ...inZone('east'), forNodes: [{ name: 'node-b' }] } },
    ],
    ANY_OF_TWO,
  ],
])('hints: %s', (_, endpoints, rules) => {
  expect(rulesAt(plan(service({ trafficDistribution: 'PreferClose' }), endpoints, NODE_A, NODE_B), 'services')).toEqual(
    rules,
  );
});

test('a client with affinity is remembered in a set of its endpoint, for as long as the Service says', () => {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 60 } };
  const fragment = plan(service({ sessionAffinity: 'ClientIP', sessionAffinityConfig }), [ON_A, ON_B]);
  const [first, second] = ['10.128.4.1', '10.128.4.2'].map((address) => `${WEB}/${address}/8080`);
  expect(rulesAt(fragment, 'services')).toEqual([
    `ip saddr @clients-60/${first} goto endpoint/${first}`,
    `ip saddr @clients-60/${second} goto endpoint/${second}`,
    `numgen random mod 2 vmap { 0 : goto endpoint/${first}, 1 : goto endpoint/${second} }`,
  ]);
  expect(fragment.chains.get(`endpoint/${first}`)).toEqual([`update @clients-60/${first} { ip saddr }`, TO_A]);
  expect(fragment.sets.get(`clients-60/${first}`)).toBe('type ipv4_addr; flags dynamic, timeout; timeout 60s;');
});

test('the longest names fit into the 255 characters of a name in the packet filter', () => {
  const object = service({
    sessionAffinity: 'ClientIP',
    ports: [{ name: 'p'.repeat(63), port: 80, protocol: 'SCTP' }],
  });
  object.metadata = { namespace: 'n'.repeat(63), name: 's'.repeat(63) };
  const found = slice([endpoint('10.128.14.100')], [{ name: 'p'.repeat(63), port: 65_535, protocol: 'SCTP' }]);
  const { chains, sets } = planService(object, [found], topology());
  expect(Math.max(...[...chains.keys(), ...sets.keys()].map((name) => name.length))).toBeLessThanOrEqual(255);
});

test('so do those with long names of Nodes, which stay different', () => {
  const nodes = ['1', '2'].map((end) => ({ ...NODE_A, name: `${'a'.repeat(60)}.${end}` }));
  const object = service({
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    ports: [{ name: 'p'.repeat(63), port: 80, nodePort: 30_080, protocol: 'SCTP' }],
  });
  object.metadata = { namespace: 'n'.repeat(63), name: 's'.repeat(63) };
  const endpoints = nodes.map(({ name }, i) => endpoint(`10.128.4.${i}`, { nodeName: name }));
  const found = slice(endpoints, [{ name: 'p'.repeat(63), port: 8080, protocol: 'SCTP' }]);
  const { chains } = planService(object, [found], topology(...nodes));
  const names = [
    ...chains.keys(),
    ...nodes.flatMap((node) => [...planPodsOf(node, [], topology().podRange).sets.keys()]),
  ];
  expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(255);
  expect(names.filter((name) => /\/on\/|pods-of/.test(name))).toHaveLength(4);
});

test('null in place of an empty list or an unknown port, as the API writes it, is nothing', () => {
  const empty = { ...slice([]), endpoints: null, ports: null } as unknown as ReturnType<typeof slice>;
  const unnamed = { ...slice([{ ...ON_A, hints: null } as unknown as Endpoint]) };
  expect(elements(planService(service(), [empty], topology()), 'no-endpoints')).toHaveLength(1);
  expect(targetsOf(planService(service(), [empty, unnamed], topology()))).toEqual(['10.128.4.1']);
  expect(dependsOnOrigin(service(), [empty, unnamed])).toBe(false);
});
