import { must } from '@gantry/base';
import { ENGINE_LABEL, HOST_ADDRESS_ANNOTATION, type Node, parseIpv4Range } from '@gantry/objects';
import { expect, test } from 'vitest';
import { CLOSED_ADDRESS_RANGES } from '../rules/transaction.ts';
import { planHostRules } from './other-hosts.ts';
import { MAX_HOSTS, planHosts } from './plan-hosts.ts';

const range = (cidr: string) => must(parseIpv4Range(cidr), 'a range');
const SURROUNDINGS = {
  hostAddress: '192.0.2.1',
  podCidr: '10.128.0.0/20',
  clusterRange: range('10.128.0.0/16'),
  reservedRanges: [range('10.96.0.0/16'), range('10.128.240.0/24'), ...CLOSED_ADDRESS_RANGES],
};

interface Said {
  readonly engine?: string;
  readonly address?: string;
  readonly cidr?: string;
  readonly created?: string;
}

function node(name: string, { engine = `engine-${name}`, address = '', cidr = '', created = '1' }: Said): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      creationTimestamp: `2030-01-0${created}T00:00:00Z`,
      labels: engine === '' ? {} : { [ENGINE_LABEL]: engine },
      annotations: address === '' ? {} : { [HOST_ADDRESS_ANNOTATION]: address },
    },
    spec: cidr === '' ? {} : { podCIDR: cidr },
  };
}

const OWN = node('own', { engine: 'engine-own', address: '192.0.2.1', cidr: '10.128.0.0/20' });
const GOOD = node('b', { address: '192.0.2.2', cidr: '10.128.16.0/20' });

test('Nodes of an engine are one host; those of this host, and those without a range or an address, are none', () => {
  const second = node('b2', { engine: 'engine-b', address: '192.0.2.2', cidr: '10.128.16.0/20', created: '2' });
  const waiting = [node('c', { cidr: '10.128.32.0/20' }), node('d', { address: '192.0.2.4' })];
  expect(planHosts([second, ...waiting, OWN, GOOD], SURROUNDINGS)).toEqual({
    hosts: [{ address: '192.0.2.2', cidr: '10.128.16.0/20' }],
    refused: [],
  });
});

const RANGE = 'spec.podCIDR';
const ADDRESS = 'metadata.annotations[gantry.dev/host-address]';

test.each<readonly [string, Said, string]>([
  ['a range that is none', { cidr: '10.128.32.0/x' }, RANGE],
  ['a range with commands', { cidr: '10.128.32.0/20; flush ruleset' }, RANGE],
  ['an IPv6 range', { cidr: 'fd00::/64' }, RANGE],
  ['a larger range', { cidr: '10.128.0.0/16' }, RANGE],
  ['all addresses', { cidr: '0.0.0.0/0' }, RANGE],
  ["a range outside of the cluster's", { cidr: '192.168.0.0/20' }, RANGE],
  ['the range of the control network', { cidr: '10.128.240.0/20' }, RANGE],
  ['the range of an older host', { cidr: '10.128.16.0/20' }, RANGE],
  ['the engine of this host with another range', { engine: 'engine-own' }, RANGE],
  ['the engine of another host with another range', { engine: 'engine-b' }, RANGE],
  ['no engine', { engine: '' }, 'metadata.labels[gantry.dev/engine]'],
  ['an address that is none', { address: 'example.com' }, ADDRESS],
  ['an address with commands', { address: '192.0.2.9 ; drop' }, ADDRESS],
  ["this host's address", { address: '192.0.2.1' }, ADDRESS],
  ["an older host's address", { address: '192.0.2.2' }, ADDRESS],
  ['loopback', { address: '127.0.0.1' }, ADDRESS],
  ['multicast', { address: '224.0.0.1' }, ADDRESS],
  ['broadcast', { address: '255.255.255.255' }, ADDRESS],
  ['a metadata service', { address: '169.254.169.254' }, ADDRESS],
  ["a pod's address", { address: '10.128.4.9' }, ADDRESS],
  ["a Service's address", { address: '10.96.0.10' }, ADDRESS],
])('a Node with %s is ignored, and its field named', (_, said, field) => {
  const bad = node('bad', { address: '192.0.2.9', cidr: '10.128.32.0/20', created: '2', ...said });
  const { hosts, refused } = planHosts([bad, OWN, GOOD], SURROUNDINGS);
  expect(hosts).toEqual([{ address: '192.0.2.2', cidr: '10.128.16.0/20' }]);
  expect(refused).toEqual([{ node: 'bad', field, reason: expect.any(String) }]);
});

test('of two addresses of an engine that of the older Node counts', () => {
  const younger = node('a', { engine: 'engine-b', address: '192.0.2.9', cidr: '10.128.16.0/20', created: '2' });
  const { hosts, refused } = planHosts([younger, GOOD], SURROUNDINGS);
  expect(hosts).toEqual([{ address: '192.0.2.2', cidr: '10.128.16.0/20' }]);
  expect(refused).toMatchObject([{ node: 'a', field: ADDRESS }]);
});

test('there are at most as many hosts as are bounded, the oldest ones', () => {
  const surroundings = { ...SURROUNDINGS, podCidr: '10.128.0.0/28' };
  const nodes = Array.from({ length: MAX_HOSTS + 2 }, (_, n) =>
    node(`n${String(n).padStart(3, '0')}`, {
      address: `198.51.${100 + Math.floor(n / 200)}.${(n % 200) + 1}`,
      cidr: `10.128.${Math.floor((n + 1) / 16)}.${((n + 1) % 16) * 16}/28`,
    }),
  );
  const { hosts, refused } = planHosts(nodes.toReversed(), surroundings);
  expect(hosts).toHaveLength(MAX_HOSTS);
  expect(refused.map((one) => one.node)).toEqual(['n255', 'n256']);
});

test('whatever Nodes say and in whatever order, ranges and addresses of hosts are different, and none is of this host', () => {
  const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '127.0.0.1', '10.128.16.1', 'x'];
  const ranges = ['10.128.0.0/20', '10.128.16.5/20', '10.128.16.0/20', '10.128.32.0/20', '10.128.0.0/16', ''];
  const nodes = addresses.flatMap((address, a) =>
    ranges.map((cidr, b) =>
      node(`n${a}${b}`, { engine: `e${(a * 7 + b * 3) % 5}`, address, cidr, created: `${1 + ((a + b) % 8)}` }),
    ),
  );
  const plan = planHosts(nodes, SURROUNDINGS);
  expect(planHosts(nodes.toReversed(), SURROUNDINGS)).toEqual(plan);
  for (const key of ['address', 'cidr'] as const) {
    const all = plan.hosts.map((host) => host[key]);
    expect(new Set(all).size).toBe(all.length);
  }
  for (const { address, cidr } of plan.hosts) {
    expect(['192.0.2.2', '192.0.2.3']).toContain(address);
    expect(['10.128.16.0/20', '10.128.32.0/20']).toContain(cidr);
  }
});

test("a host's packets are accepted from its address, with addresses of its range inside", () => {
  const { elements, chains } = planHostRules([{ address: '192.0.2.2', cidr: '10.128.16.0/20' }]);
  expect(elements).toEqual([
    { container: 'tunnel-sources', key: '192.0.2.2', value: 'goto tunnel-from/192.0.2.2' },
    { container: 'other-hosts', key: '10.128.16.0/20', value: '' },
  ]);
  expect(chains.get('tunnel-from/192.0.2.2')).toEqual(['@th,336,32 & 0xfffff000 == 0x0a801000 accept', 'drop']);
});
