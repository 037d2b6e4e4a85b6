import { NAMESPACES, NETWORK_POLICIES, type NetworkPolicySpec, NODES, type Pod, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { namespace, networkPolicy, node, pod } from '../testing/policies.ts';
import { startPolicyView } from '../testing/policy-view.ts';

/** Agents report the addresses of pods and Nodes. No report of one agent opens a pod of another Node. */

const NODE_A = node('node-a', '10.128.12.3');
const NODE_B = node('node-b', '10.128.12.4');
const DENY: NetworkPolicySpec = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };
const victim = pod('db', '10.128.4.1');

/** Returns a pod of the namespace `evil` on node-b. Its name sorts first. */
function claiming(address: string, status: Pod['status'] = {}): Pod {
  const one = pod('a', address, {}, 'evil');
  return { ...one, spec: { ...one.spec, containers: [], nodeName: 'node-b' }, status: { ...one.status, ...status } };
}

/** Returns who reaches an address regardless of policies. */
function openTo(text: string, address: string): readonly string[] {
  const [, list = ''] = /add element ip t always-open \{ (.*) \}/.exec(text) ?? [];
  return list.split(', ').flatMap((pair) => {
    const [from, to] = pair.split(' . ');
    return to === address && from !== undefined ? [from] : [];
  });
}

function start() {
  const started = startPolicyView();
  const { take } = started;
  take(NODES, NODE_A);
  take(NODES, NODE_B);
  take(NETWORK_POLICIES, networkPolicy(DENY));
  return started;
}

test("a pod is open to its Node's address and its agent's, whatever address its status gives the Node", async () => {
  const { take, text } = start();
  const reported: Pod = { ...victim, status: { ...victim.status, hostIP: '10.128.4.66' } };
  take(PODS, reported);
  expect(openTo(await text(), '10.128.4.1')).toEqual(['10.128.4.1', '10.128.12.3', '10.128.0.3']);
});

test.each([
  ["a pod's", '10.128.4.66'],
  ['one elsewhere', '192.0.2.1'],
  ['none', 'x; drop'],
])("a Node's address opens nothing if it is %s", async (_, address) => {
  const { take, text } = start();
  take(NODES, node('node-a', address), NODE_A);
  take(PODS, victim);
  expect(openTo(await text(), '10.128.4.1')).toEqual(['10.128.4.1']);
});

test('pods follow the address of their Node, and are closed to it when it is gone', async () => {
  const { take, text } = start();
  take(PODS, victim);
  await text();
  const moved = node('node-a', '10.128.12.5');
  take(NODES, moved, NODE_A);
  const after = await text();
  expect(openTo(after, '10.128.4.1')).toEqual(['10.128.12.5', '10.128.0.5']);
  expect(after).toContain('delete element ip t always-open { 10.128.12.3 . 10.128.4.1');
  take(NODES, undefined, moved);
  expect(await text()).toContain('delete element ip t always-open { 10.128.12.5 . 10.128.4.1');
});

test("an agent that reports another Node's pod's address does not reach that pod, in whatever order", async () => {
  const attacker = claiming('10.128.4.1');
  for (const pods of [
    [victim, attacker],
    [attacker, victim],
  ]) {
    const { take, text } = start();
    let all = '';
    for (const one of pods) {
      take(PODS, one);
      all = await text();
    }
    expect(openTo(all, '10.128.4.1')).not.toContain('10.128.12.4');
    expect(openTo(all, '10.128.4.1')).not.toContain('10.128.0.4');
    take(PODS, undefined, attacker);
    expect(openTo(await text(), '10.128.4.1')).toContain('10.128.12.3');
  }
});

test('a pod that nothing isolates does not open the one whose address it claims', async () => {
  const { take, text } = start();
  take(PODS, victim);
  await text();
  take(PODS, claiming('10.128.4.1'));
  expect(await text()).not.toContain('isolated');
});

test('where several pods claim an address, different policies close it, and it opens again', async () => {
  const { take, text } = start();
  take(NETWORK_POLICIES, networkPolicy({ podSelector: {}, ingress: [{}], egress: [{}] }, 'all', 'evil'));
  take(PODS, victim);
  await text();
  take(PODS, claiming('10.128.4.1'));
  const both = await text();
  for (const direction of ['ingress', 'egress']) {
    expect(both).toContain(`add rule ip t ${direction}-of/closed drop`);
    expect(both).toContain(`add element ip t ${direction}-isolated { 10.128.4.1 : goto ${direction}-of/closed }`);
  }
  take(PODS, claiming('10.128.4.2'));
  const [, chain] = /ingress-isolated \{ (10\.128\.4\.1 : goto [^ ,]+)/.exec(await text()) ?? [];
  expect(chain).toBe('10.128.4.1 : goto ingress-of/#');
});

test('the same policies on both isolate an address as they do one pod', async () => {
  const { take, text } = start();
  take(PODS, victim);
  take(PODS, pod('successor', '10.128.4.1'));
  const made = await text();
  expect(made).toContain('add element ip t ingress-isolated { 10.128.4.1 : goto ingress-of/# }');
  expect(openTo(made, '10.128.4.1')).toContain('10.128.12.3');
});

test('an agent that reports the address of an API server or a DNS server isolates neither', async () => {
  const { take, text } = start();
  take(NETWORK_POLICIES, networkPolicy(DENY, 'deny', 'evil'));
  take(PODS, claiming('10.128.0.8'));
  expect(await text()).toBe('');
});

test("a pod that says it has an address of another host's range is no peer there, and isolates nothing", async () => {
  const { take, text } = start();
  const elsewhere = { ...NODE_B, spec: { podCIDR: '10.128.16.0/20' } };
  take(NODES, elsewhere, NODE_B);
  const from = [{ namespaceSelector: { matchLabels: { team: 'evil' } } }];
  take(NAMESPACES, namespace('evil', { team: 'evil' }));
  take(NETWORK_POLICIES, networkPolicy({ ...DENY, ingress: [{ from }] }));
  take(NETWORK_POLICIES, networkPolicy({ ...DENY, policyTypes: ['Ingress'] }, 'own', 'evil'));
  take(PODS, victim);
  const before = await text();
  take(PODS, claiming('10.128.4.1'));
  expect(await text()).toBe('');
  take(PODS, claiming('10.128.20.1'), claiming('10.128.4.1'));
  expect(await text()).toMatch(/add element ip t peers\/# \{ 10\.128\.20\.1 \}/);
  expect(before).not.toContain('10.128.20.1');
});

const WITH_FORMER_RANGE = { ...NODE_A, spec: { podCIDR: '10.200.0.0/20' } };

test.each(['own-pods', 'other-hosts'] as const)(
  "pods stay isolated where their Node has the range of before the host's was changed, on a host that reaches %s",
  async (reach) => {
    const { take, text } = startPolicyView(undefined, reach);
    take(NODES, WITH_FORMER_RANGE);
    take(NETWORK_POLICIES, networkPolicy(DENY));
    take(PODS, victim);
    expect(await text()).toMatch(/add element ip t ingress-isolated \{ 10\.128\.4\.1 : /);
  },
);

test('pods of such a Node are peers where there are no other hosts', async () => {
  const { take, text } = startPolicyView(undefined, 'own-pods');
  take(NODES, WITH_FORMER_RANGE);
  take(NETWORK_POLICIES, networkPolicy({ ...DENY, ingress: [{ from: [{ podSelector: {} }] }] }));
  take(PODS, victim);
  expect(await text()).toMatch(/add element ip t peers\/# \{ 10\.128\.4\.1 \}/);
});
