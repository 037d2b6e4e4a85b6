import type { NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicySpec } from '@gantry/objects';
import { must } from '@gantry/base';
import { expect, test } from 'vitest';
import { networkPolicy } from '../testing/policies.ts';
import { type Amounts, MAX_RULES, NAMESPACE_BOUNDS, POLICY_BOUNDS } from './bounds.ts';
import { closedPolicy, parsePolicy } from './parse-policy.ts';
import { allowChain, isolationChain, MAX_ALLOWING, planPolicy } from './policy-chains.ts';

function parse(spec: NetworkPolicySpec, name?: string, namespace?: string) {
  return must(parsePolicy(networkPolicy(spec, name, namespace)), 'room for the policy');
}

/** Returns the rules of a chain. Digests of peers are shortened to `#`. */
function rules(spec: NetworkPolicySpec, direction: 'ingress' | 'egress'): readonly string[] | undefined {
  const policy = parse(spec);
  return planPolicy(policy)
    .chains.get(allowChain(policy, direction))
    ?.map((rule) => rule.replaceAll(/peers\/[0-9a-f]{40}/g, 'peers/#'));
}

const CLIENTS = { podSelector: { matchLabels: { app: 'client' } } };
const SYSTEM = { namespaceSelector: { matchLabels: { team: 'system' } } };

const INGRESS: readonly (readonly [string, NetworkPolicyIngressRule, readonly string[]])[] = [
  ['all', {}, ['accept']],
  ['all, with empty lists', { from: [], ports: [] }, ['accept']],
  ['pods', { from: [CLIENTS] }, ['ip saddr @peers/# accept']],
  ['several peers are one set', { from: [CLIENTS, SYSTEM] }, ['ip saddr @peers/# accept']],
  [
    'a block without its exceptions',
    { from: [{ ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.0.4/30'] } }] },
    ['ip saddr { 10.0.0.0-10.0.0.3, 10.0.0.8-10.0.0.255 } accept'],
  ],
  [
    'an exception of one block in another one',
    { from: [{ ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.0.4/32'] } }, { ipBlock: { cidr: '10.0.0.4/32' } }] },
    ['ip saddr { 10.0.0.0-10.0.0.255 } accept'],
  ],
  ['every address of IPv4', { from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }, ['accept']],
  ['none of IPv4', { from: [{ ipBlock: { cidr: '::/0' } }], ports: [{ port: 80 }] }, []],
  ['a port, of TCP unless it says otherwise', { ports: [{ port: 80 }] }, ['tcp dport { 80 } accept']],
  [
    'ports and ranges by protocol',
    {
      ports: [
        { port: 8000, endPort: 8010 },
        { port: 80, protocol: 'TCP' },
        { port: 8011 },
        { port: 53, protocol: 'UDP' },
        { port: 7, protocol: 'SCTP' },
      ],
    },
    ['tcp dport { 80, 8000-8011 } accept', 'udp dport { 53 } accept', 'sctp dport { 7 } accept'],
  ],
  ['all ports of a protocol', { ports: [{ protocol: 'UDP' }] }, ['meta l4proto udp accept']],
  [
    'a named port, by the address that it belongs to',
    { from: [CLIENTS], ports: [{ port: 'web' }] },
    ['ip saddr @peers/# meta l4proto tcp ip daddr . th dport @named-ports/tcp/web accept'],
  ],
  [
    'peers and ports of several kinds',
    { from: [CLIENTS, { ipBlock: { cidr: '10.0.0.1/32' } }], ports: [{ port: 80 }, { port: 'dns', protocol: 'UDP' }] },
    [
      'ip saddr @peers/# jump ingress-allowed/default/guard/0',
      'ip saddr { 10.0.0.1 } jump ingress-allowed/default/guard/0',
    ],
  ],
  ['a peer without any selector is no pod', { from: [{}] }, []],
];

test.each(INGRESS)('ingress: %s', (_, rule, expected) => {
  expect(rules({ ingress: [rule] }, 'ingress')).toEqual(expected);
});

test.each<readonly [string, NetworkPolicyEgressRule, readonly string[]]>([
  ['peers are destinations', { to: [CLIENTS], ports: [{ port: 80 }] }, ['ip daddr @peers/# tcp dport { 80 } accept']],
  ['so are blocks', { to: [{ ipBlock: { cidr: '10.0.0.0/30' } }] }, ['ip daddr { 10.0.0.0-10.0.0.3 } accept']],
  [
    'a named port is that of the destination',
    { ports: [{ port: 'web' }] },
    ['meta l4proto tcp ip daddr . th dport @named-ports/tcp/web accept'],
  ],
])('egress: %s', (_, rule, expected) => {
  expect(rules({ egress: [rule] }, 'egress')).toEqual(expected);
});

test.each<readonly [string, NetworkPolicySpec, readonly [boolean, boolean]]>([
  ['ingress always', {}, [true, false]],
  ['egress with rules for it', { egress: [{}] }, [true, true]],
  ['no egress by an empty list', { egress: [] }, [true, false]],
  ['what its types say', { policyTypes: ['Egress'], ingress: [{}] }, [false, true]],
  ['both', { policyTypes: ['Ingress', 'Egress'] }, [true, true]],
])('a policy isolates: %s', (_, spec, expected) => {
  const { ingress, egress } = parse(spec);
  expect([ingress !== undefined, egress !== undefined]).toEqual(expected);
});

test('the chain of ports is shared by the peers of its rule', () => {
  const from = [CLIENTS, { ipBlock: { cidr: '10.0.0.1/32' } }];
  const ports = [{ port: 80 }, { port: 'dns', protocol: 'UDP' }];
  const { chains } = planPolicy(parse({ ingress: [{ from, ports }] }));
  expect(chains.get('ingress-allowed/default/guard/0')).toEqual([
    'tcp dport { 80 } accept',
    'meta l4proto udp ip daddr . th dport @named-ports/udp/dns accept',
  ]);
});

test('a pod that several policies isolate gets what any of them allows, and nothing else', () => {
  const allow = parse({ ingress: [{ ports: [{ port: 80 }] }] }, 'allow');
  const other = parse({ ingress: [{ ports: [{ port: 81 }] }] }, 'another');
  const deny = parse({}, 'deny');
  const chain = isolationChain([deny, other, allow], 'ingress');
  expect(chain.rules).toEqual(['jump ingress-allowed/default/allow', 'jump ingress-allowed/default/another', 'drop']);
  expect(isolationChain([allow, deny, other], 'ingress')).toEqual(chain);
  expect(isolationChain([allow, deny], 'ingress').name).not.toBe(chain.name);
});

test('rules with the same peers, in whatever order, have the same set; others have others', () => {
  const setOf = (from: NetworkPolicyIngressRule['from'], namespace = 'default') => {
    const [rule] = parse({ ingress: [{ from: from ?? [] }] }, 'guard', namespace).ingress ?? [];
    return rule?.peers === 'all' ? 'all' : rule?.peers.group?.id;
  };
  expect(setOf([CLIENTS, SYSTEM])).toBe(setOf([SYSTEM, CLIENTS, SYSTEM]));
  expect(setOf([SYSTEM], 'other')).toBe(setOf([SYSTEM]));
  // Without a namespace selector, the pods are those of the policy's own namespace.
  expect(setOf([CLIENTS], 'other')).not.toBe(setOf([CLIENTS]));
  expect(setOf([{ ...CLIENTS, ...SYSTEM }])).not.toBe(setOf([SYSTEM]));
});

const many = (count: number) => Array.from({ length: count }, (_, i) => i);
const cidr = (i: number) => `10.${i >> 14}.${(i >> 6) % 256}.${(i % 64) * 4}/32`;

const selecting = (count: number) => many(count).map((i) => ({ podSelector: { matchLabels: { app: `a${i}` } } }));
const named = (count: number) => many(count).map((i) => ({ port: `p${i}` }));
const values = (count: number) => ({
  podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: many(count).map(String) }] },
});

test.each<readonly [string, readonly NetworkPolicyIngressRule[], number, number]>([
  ['as many rules as are allowed', many(MAX_RULES).map((i) => ({ ports: [{ port: i + 1 }] })), MAX_RULES, 0],
  ['too many rules', many(MAX_RULES + 5).map((i) => ({ ports: [{ port: i + 1 }] })), MAX_RULES, 5],
  ['too many ranges', [{ from: many(POLICY_BOUNDS.ranges + 1).map((i) => ({ ipBlock: { cidr: cidr(i) } })) }], 0, 1],
  [
    'a rule with too many ranges does not take the others with it',
    [
      { ports: [{ port: 80 }] },
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: many(POLICY_BOUNDS.ranges).map(cidr) } }] },
      { ports: [{ port: 81 }] },
    ],
    2,
    1,
  ],
  ['many ranges that are one', [{ ports: many(30_000).map((i) => ({ port: i + 1 })) }], 1, 0],
  ['too many labels to compare with', [{ from: selecting(POLICY_BOUNDS.terms / 2) }], 0, 1],
  ['too many values to compare with', [{ from: [values(POLICY_BOUNDS.terms)] }, { from: [values(9)] }], 1, 1],
  ['as many sets of pods as are allowed', selecting(POLICY_BOUNDS.groups).map((from) => ({ from: [from] })), 500, 0],
  ['too many sets of pods', selecting(POLICY_BOUNDS.groups + 3).map((from) => ({ from: [from] })), 500, 3],
  ['as many named ports as are allowed', [{ ports: named(POLICY_BOUNDS.namedPorts) }], 1, 0],
  ['too many named ports', [{ ports: named(POLICY_BOUNDS.namedPorts + 1) }, { ports: [{ port: 80 }] }], 1, 1],
  ['many rules of which one allows all', [...many(5000).map((i) => ({ ports: [{ port: i + 1 }] })), {}], 1, 0],
])('bounds: %s', (_, ingress, written, omitted) => {
  const policy = parse({ ingress: [...ingress] });
  expect([policy.ingress?.length, policy.omitted]).toEqual([written, omitted]);
});

test.each<readonly [string, Partial<Amounts>, readonly NetworkPolicyIngressRule[], number]>([
  ['rules', { rules: 2 }, [...named(3)].map((port) => ({ ports: [port] })), 1],
  ['ranges', { ranges: 1 }, [{ ports: [{ port: 80 }, { port: 90 }] }], 1],
  ['terms', { terms: 3 }, [{ from: selecting(1) }], 1],
  ['sets of pods', { groups: 0 }, [{ from: selecting(1) }], 1],
  ['named ports', { namedPorts: 1 }, [{ ports: named(2) }], 1],
])('rules are left out when their namespace has no more %s', (_, left, ingress, omitted) => {
  const policy = parsePolicy(networkPolicy({ ingress: [...ingress] }), { ...NAMESPACE_BOUNDS, ...left });
  expect(policy?.omitted).toBe(omitted);
});

test('a policy whose own selector is beyond the bounds, or for which its namespace has no room, is not read', () => {
  expect(parsePolicy(networkPolicy(values(POLICY_BOUNDS.terms)))).toBeUndefined();
  expect(parsePolicy(networkPolicy({}), { ...NAMESPACE_BOUNDS, policies: 0 })).toBeUndefined();
  expect(parsePolicy(networkPolicy({}), { ...NAMESPACE_BOUNDS, terms: 0 })).toBeUndefined();
  const closed = closedPolicy('default');
  expect(closed.pods.matches({ any: 'pod' })).toBe(true);
  for (const direction of ['ingress', 'egress'] as const)
    expect(isolationChain([closed], direction).rules).toEqual(['drop']);
});

test('a pod that too many policies isolate gets what some of them allow, the same ones always', () => {
  const policies = many(MAX_ALLOWING + 5).map((i) => parse({ ingress: [{ ports: [{ port: 80 }] }] }, `p-${1000 + i}`));
  const chain = isolationChain(policies, 'ingress');
  expect(chain.rules).toHaveLength(MAX_ALLOWING + 1);
  expect(chain.rules.at(-1)).toBe('drop');
  expect(chain.omitted).toBe(5);
  expect(isolationChain(policies.toReversed(), 'ingress')).toEqual(chain);
});

test('names fit into the packet filter, and nothing else than a name gets there', () => {
  const name = (key: string) => allowChain({ key }, 'ingress');
  expect(name(`default/${'a'.repeat(253)}`).length).toBeLessThanOrEqual(64);
  expect(name(`default/${'a'.repeat(253)}`)).not.toBe(name(`default/${'a'.repeat(252)}b`));
  expect(name('default/x; flush ruleset')).toMatch(/^ingress-allowed\/[0-9a-f]{40}$/);
  const [rule] = parse({ ingress: [{ ports: [{ port: 'x } accept' }] }] }).ingress ?? [];
  expect(rule?.ports).toEqual({ numbers: new Map(), named: [] });
});
