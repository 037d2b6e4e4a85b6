import { NETWORK_POLICIES, type NetworkPolicySpec, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { networkPolicy, pod } from '../testing/policies.ts';
import { startPolicyView } from '../testing/policy-view.ts';
import { NAMESPACE_BOUNDS, POLICY_BOUNDS } from './bounds.ts';
import { MAX_ALLOWING } from './policy-chains.ts';

/** The bounds of one namespace's policies, and the effects beyond them. Only that namespace is affected. */

const many = (count: number) => Array.from({ length: count }, (_, i) => i);
/** Returns a selector that selects no pod and has this number of values. */
const selecting = (values: number) => ({
  matchExpressions: [{ key: 'app', operator: 'In', values: many(values).map((i) => `none-${i}`) }],
});
const PLAIN: NetworkPolicySpec = { podSelector: selecting(1) };
const CLOSED = /add element ip t ingress-isolated \{ 10\.128\.4\.1 : goto (ingress-of\/#) \}/;

test.each<readonly [string, number, NetworkPolicySpec]>([
  ['too many policies', NAMESPACE_BOUNDS.policies, PLAIN],
  ['one whose selector has too many values', 0, { podSelector: selecting(POLICY_BOUNDS.terms) }],
  ['policies whose selectors have too many values in all', 6, { podSelector: selecting(1500) }],
])('a namespace with %s is closed, and no other one, until it has room', async (_, count, spec) => {
  const { take, text, reports } = startPolicyView();
  take(PODS, pod('db', '10.128.4.1'));
  take(PODS, pod('db', '10.128.4.2', {}, 'other'));
  const policies = many(count).map((i) => networkPolicy({ ...spec }, `p-${i}`));
  for (const policy of policies) take(NETWORK_POLICIES, policy);
  expect(await text()).not.toContain('isolated');
  const last = networkPolicy(spec, 'last');
  take(NETWORK_POLICIES, last);
  const closed = await text();
  expect(closed).toMatch(CLOSED);
  expect(closed).toContain('add element ip t egress-isolated { 10.128.4.1 : goto egress-of/# }');
  expect(closed).toContain('add rule ip t ingress-of/# drop');
  expect(closed).not.toContain('10.128.4.2');
  expect(reports).toEqual(['default is closed by default/last']);
  // A pod that is added now is isolated too.
  take(PODS, pod('late', '10.128.4.3', { app: 'late' }));
  expect(await text()).toContain('add element ip t ingress-isolated { 10.128.4.3 : goto ingress-of/# }');
  take(NETWORK_POLICIES, undefined, policies[0] ?? last);
  const open = await text();
  expect(open).toContain('delete element ip t ingress-isolated { 10.128.4.1, 10.128.4.3 }');
  expect(open).toContain('delete element ip t egress-isolated { 10.128.4.1, 10.128.4.3 }');
});

test('a closed namespace keeps what its other policies allow', async () => {
  const { take, text } = startPolicyView();
  take(PODS, pod('db', '10.128.4.1'));
  take(NETWORK_POLICIES, networkPolicy({ ingress: [{ ports: [{ port: 80 }] }] }, 'web'));
  take(NETWORK_POLICIES, networkPolicy({ podSelector: selecting(POLICY_BOUNDS.terms) }, 'long'));
  const closed = await text();
  expect(closed).toContain('add rule ip t ingress-of/# jump ingress-allowed/default/web');
  expect(closed).toContain('add rule ip t egress-of/# drop');
});

test('a policy that waits for room and is deleted meanwhile does not come back', async () => {
  const { take, round, text } = startPolicyView();
  take(PODS, pod('db', '10.128.4.1'));
  const policies = many(NAMESPACE_BOUNDS.policies + 1).map((i) => networkPolicy({}, `p-${i}`));
  for (const policy of policies) take(NETWORK_POLICIES, policy);
  await text();
  for (const policy of policies) take(NETWORK_POLICIES, undefined, policy);
  await round();
  expect(await text()).toContain('delete element ip t ingress-isolated { 10.128.4.1 }');
});

test.each<readonly [string, NetworkPolicySpec, number]>([
  [
    'named ports',
    { egress: [{ ports: many(100).map((i) => ({ port: `p${i}` })) }] },
    NAMESPACE_BOUNDS.namedPorts / 100,
  ],
  [
    'sets of pods',
    { egress: many(500).map((i) => ({ to: [{ podSelector: { matchLabels: { app: `p${i}` } } }] })) },
    NAMESPACE_BOUNDS.groups / 500,
  ],
  ['rules', { egress: many(1000).map((i) => ({ ports: [{ port: i + 1 }] })) }, NAMESPACE_BOUNDS.rules / 1000],
])('a namespace has a bounded number of %s: what is beyond stays closed there', async (_, spec, count) => {
  const { take, text, reports } = startPolicyView();
  for (const i of many(count)) take(NETWORK_POLICIES, networkPolicy(spec, `p-${i}`));
  const full = await text();
  expect(reports).toEqual([]);
  take(NETWORK_POLICIES, networkPolicy(spec, 'more'));
  expect(await text()).toBe('');
  expect(reports).toEqual([`default/more: ${spec.egress?.length}`]);
  take(NETWORK_POLICIES, networkPolicy(spec, 'own', 'other'));
  expect((await text()).split('\n').length).toBeGreaterThan(full.split('\n').length / count / 2);
  expect(reports).toHaveLength(1);
});

test('the process looks at the clock after a bounded number of labels and values, not of selectors', async () => {
  let looks = 0;
  const { take, round } = startPolicyView({ monotonicMs: () => looks++ });
  for (const i of many(1000)) take(PODS, pod(`p-${i}`, '10.128.4.1'));
  await round();
  looks = 0;
  take(NETWORK_POLICIES, networkPolicy({ ingress: [{ from: [{ podSelector: selecting(1500) }] }] }));
  await round();
  expect(looks).toBeGreaterThan(1000);
});

test('policies of one namespace that are much work leave those of another one their turn', async () => {
  const { take, round, written, text } = startPolicyView();
  for (const i of many(1000)) take(PODS, pod(`p-${i}`, '10.200.4.1', {}, 'greedy'));
  take(PODS, pod('db', '10.128.4.1'));
  await text();
  const work: NetworkPolicySpec = { ingress: [{ from: [{ podSelector: selecting(1500) }] }] };
  for (const i of many(4)) take(NETWORK_POLICIES, networkPolicy(work, `p-${i}`, 'greedy'));
  take(NETWORK_POLICIES, networkPolicy({}, 'guard', 'default'));
  expect(await round()).toBe(false);
  const first = written();
  expect(first).toMatch(CLOSED);
  const chains = (name: string) => name.match(/^add chain ip t ingress-allowed\/greedy\//gm)?.length ?? 0;
  expect(chains(first)).toBeLessThan(4);
  expect(chains(first) + chains(await text())).toBe(4);
});

test('all policies that are known at the start are worked off, though others change meanwhile', async () => {
  const changing = networkPolicy({ ingress: [{ from: [{ podSelector: selecting(1500) }] }] }, 'p-0', 'greedy');
  let turns = 0;
  // Another policy changes at each look at the clock.
  const clock = {
    monotonicMs: () => {
      if (turns > 0) take(NETWORK_POLICIES, networkPolicy({}, `q-${turns++}`, 'greedy'));
      return 0;
    },
  };
  const { take, catchUp, written } = startPolicyView(clock);
  for (const i of many(1000)) take(PODS, pod(`p-${i}`, '10.200.4.1', {}, 'greedy'));
  const work: NetworkPolicySpec = { ingress: [{ from: [{ podSelector: selecting(1500) }] }] };
  take(NETWORK_POLICIES, changing);
  for (const i of many(3)) take(NETWORK_POLICIES, networkPolicy(work, `p-${i + 1}`, 'greedy'));
  turns = 1;
  expect(await catchUp()).toBe(false);
  expect(written().match(/^add chain ip t ingress-allowed\/greedy\/p-\d/gm)).toHaveLength(4);
});

test('to read a long policy is work, too', async () => {
  const { take, round } = startPolicyView();
  const ranges = many(9000).map((i) => ({ ipBlock: { cidr: `11.${i >> 8}.${i & 255}.0/24` } }));
  for (const i of many(20)) {
    take(NETWORK_POLICIES, networkPolicy({ ingress: [{ from: ranges }] }, `p-${i}`));
  }
  expect(await round()).toBe(false);
});

test('a pod that too many policies select is closed for what some of them allow', async () => {
  const { take, text, reports } = startPolicyView();
  take(PODS, pod('db', '10.128.4.1'));
  for (const i of many(MAX_ALLOWING + 1)) {
    take(NETWORK_POLICIES, networkPolicy({ ingress: [{ ports: [{ port: i + 1 }] }] }, `p-${i}`));
  }
  expect((await text()).match(/add rule ip t ingress-of\/# jump/g)).toHaveLength(MAX_ALLOWING);
  expect(reports).toEqual(['default is crowded']);
});
