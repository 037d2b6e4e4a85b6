import {
  ENDPOINT_SLICES,
  type KubeObject,
  NAMESPACES,
  NETWORK_POLICIES,
  type NetworkPolicySpec,
  NODES,
  type Pod,
  PODS,
  type Resource,
} from '@gantry/objects';
import { expect, test } from 'vitest';
import { namespace, networkPolicy, node, pod } from '../testing/policies.ts';
import { startPolicyView } from '../testing/policy-view.ts';
import { endpoint, slice } from '../testing/services.ts';

const start = startPolicyView;

const DENY: NetworkPolicySpec = { podSelector: { matchLabels: { app: 'db' } } };
const db = pod('db', '10.128.4.1');
const FROM_TEAM: NetworkPolicySpec = {
  podSelector: {},
  ingress: [
    { from: [{ namespaceSelector: { matchLabels: { team: 'a' } }, podSelector: { matchLabels: { app: 'web' } } }] },
  ],
};

/** Returns the members of peer sets that a text adds or deletes. */
function peers(text: string, verb: 'add' | 'delete'): readonly string[] {
  return [...text.matchAll(new RegExp(`^${verb} element ip t peers/# \\{ (.*) \\}$`, 'gm'))].flatMap(([, list = '']) =>
    list.split(', '),
  );
}

test('a pod that a policy selects is isolated as soon as it has an address, but not from itself and its Node', async () => {
  const { take, text } = start();
  take(NODES, node('node-a', '10.128.0.3'));
  take(NETWORK_POLICIES, networkPolicy(DENY));
  const { podIP: _, ...rest } = db.status ?? {};
  take(PODS, { ...db, status: rest } as Pod);
  expect(await text()).toBe('');
  take(PODS, db);
  expect(await text()).toBe(`add chain ip t ingress-of/#
flush chain ip t ingress-of/#
add rule ip t ingress-of/# drop
add element ip t ingress-isolated { 10.128.4.1 : goto ingress-of/# }
add element ip t always-open { 10.128.4.1 . 10.128.4.1, 10.128.0.3 . 10.128.4.1, 10.128.4.1 . 10.128.0.3 }
`);
  take(PODS, { ...db, metadata: { ...db.metadata, resourceVersion: '7' } }, db);
  expect(await text()).toBe('');
});

test.each<readonly [string, Pod]>([
  ['of another label', pod('web', '10.128.4.1')],
  ['of another namespace', pod('db', '10.128.4.1', { app: 'db' }, 'other')],
  ['of another host', pod('db', '10.200.4.1')],
  ['that have ended', { ...db, status: { ...db.status, phase: 'Failed' } }],
  ["in their Node's network", { ...db, spec: { containers: [], hostNetwork: true } }],
])('pods are not isolated: those %s', async (_, other) => {
  const { take, text } = start();
  take(NETWORK_POLICIES, networkPolicy(DENY));
  take(PODS, other);
  expect(await text()).toBe('');
});

test('a pod is let go when its labels change, when the policy does, and when either is gone', async () => {
  const { take, text } = start();
  const deny = networkPolicy(DENY);
  const released = 'delete element ip t ingress-isolated { 10.128.4.1 }';
  take(PODS, db);
  take(NETWORK_POLICIES, deny);
  expect(await text()).toContain('add element ip t ingress-isolated');
  const relabelled = { ...db, metadata: { ...db.metadata, labels: { app: 'web' } } };
  take(PODS, relabelled, db);
  expect(await text()).toContain(released);
  const all = networkPolicy({ podSelector: {} });
  take(NETWORK_POLICIES, all, deny);
  expect(await text()).toContain('add element ip t ingress-isolated');
  const egress = networkPolicy({ podSelector: {}, policyTypes: ['Egress'] });
  take(NETWORK_POLICIES, egress, all);
  const changed = await text();
  expect(changed).toContain(released);
  expect(changed).toContain('add element ip t egress-isolated { 10.128.4.1 : goto egress-of/# }');
  take(NETWORK_POLICIES, undefined, egress);
  expect(await text()).toContain('delete element ip t egress-isolated { 10.128.4.1 }');
  take(NETWORK_POLICIES, all);
  await text();
  take(PODS, undefined, relabelled);
  expect(await text()).toContain(released);
});

test("peers follow pods' labels, namespaces' labels and both coming in any order", async () => {
  const { take, text } = start();
  const web = pod('web', '10.128.4.7', { app: 'web' }, 'front');
  take(PODS, web);
  take(NETWORK_POLICIES, networkPolicy(FROM_TEAM));
  const made = await text();
  expect(made).toContain('add set ip t peers/# { type ipv4_addr; }');
  expect(peers(made, 'add')).toEqual([]);
  const plain = namespace('front');
  const labelled = namespace('front', { team: 'a' });
  take(NAMESPACES, plain);
  expect(await text()).toBe('');
  take(NAMESPACES, labelled, plain);
  expect(peers(await text(), 'add')).toEqual(['10.128.4.7']);
  const other = { ...web, metadata: { ...web.metadata, labels: { app: 'other' } } };
  take(PODS, other, web);
  expect(peers(await text(), 'delete')).toEqual(['10.128.4.7']);
  take(PODS, web, other);
  expect(peers(await text(), 'add')).toEqual(['10.128.4.7']);
  take(NAMESPACES, plain, labelled);
  expect(peers(await text(), 'delete')).toEqual(['10.128.4.7']);
  take(NAMESPACES, labelled, plain);
  take(PODS, undefined, web);
  expect(peers(await text(), 'add')).toEqual([]);
  take(NETWORK_POLICIES, undefined, networkPolicy(FROM_TEAM));
  expect(await text()).toContain('delete set ip t peers/#');
});

test('a peer keeps its place while another pod has the same address', async () => {
  const { take, text } = start();
  take(NAMESPACES, namespace('front', { team: 'a' }));
  take(NETWORK_POLICIES, networkPolicy(FROM_TEAM));
  const first = pod('first', '10.128.4.7', { app: 'web' }, 'front');
  take(PODS, first);
  await text();
  take(PODS, pod('second', '10.128.4.7', { app: 'web' }, 'front'));
  take(PODS, undefined, first);
  expect(await text()).toBe('');
});

test('policies with the same peers share a set, which goes with the last of them', async () => {
  const { take, text } = start();
  const [one, other] = ['one', 'other'].map((name) => networkPolicy(FROM_TEAM, name, name));
  take(NETWORK_POLICIES, one);
  expect(await text()).toContain('add set');
  take(NETWORK_POLICIES, other);
  expect(await text()).not.toContain('add set');
  take(NETWORK_POLICIES, undefined, one);
  expect(await text()).not.toContain('delete set');
  take(NETWORK_POLICIES, undefined, other);
  expect(await text()).toContain('delete set ip t peers/#');
});

test('a named port is resolved for each pod, while a rule names it', async () => {
  const { take, text } = start();
  const sidecar = { name: 's', restartPolicy: 'Always', ports: [{ name: 'dns', protocol: 'UDP', containerPort: 53 }] };
  const other = pod('other', '10.200.0.9', {}, 'elsewhere');
  const withSidecar: Pod = { ...other, spec: { containers: [], initContainers: [sidecar] } };
  take(PODS, withSidecar);
  take(PODS, db);
  const ports = [{ port: 'web' }, { port: 'dns', protocol: 'UDP' }];
  const named = networkPolicy({ podSelector: {}, policyTypes: ['Egress'], egress: [{ ports }] });
  take(NETWORK_POLICIES, named);
  const made = await text();
  expect(made).toContain('add set ip t named-ports/tcp/web { type ipv4_addr . inet_service; }');
  expect(made).toContain('add element ip t named-ports/tcp/web { 10.128.4.1 . 8080 }');
  expect(made).toContain('add element ip t named-ports/udp/dns { 10.200.0.9 . 53 }');
  const moved = { ...db, spec: { containers: [{ name: 'main', ports: [{ name: 'web', containerPort: 8081 }] }] } };
  take(PODS, moved, db);
  expect(await text()).toBe(`delete element ip t named-ports/tcp/web { 10.128.4.1 . 8080 }
add element ip t named-ports/tcp/web { 10.128.4.1 . 8081 }
`);
  take(NETWORK_POLICIES, undefined, named);
  const gone = await text();
  expect(gone).toContain('delete element ip t named-ports/tcp/web { 10.128.4.1 . 8081 }');
  expect(gone).toContain('delete set ip t named-ports/tcp/web');
});

test("the DNS servers are peers as pods of kube-system with Kubernetes' label are, and can be isolated", async () => {
  const { take, text } = start();
  const dns = slice(
    [endpoint('10.128.0.9'), endpoint('10.128.0.8', { targetRef: { kind: 'Pod', name: 'own' } })],
    [{ name: 'dns', port: 53, protocol: 'UDP' }],
  );
  dns.metadata = { namespace: 'kube-system', name: 'kube-dns', labels: { 'kubernetes.io/service-name': 'kube-dns' } };
  const to = [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ];
  take(NAMESPACES, namespace('kube-system'));
  take(NETWORK_POLICIES, networkPolicy({ egress: [{ to, ports: [{ port: 'dns', protocol: 'UDP' }] }] }));
  take(ENDPOINT_SLICES, { ...dns, metadata: { ...dns.metadata, namespace: 'default' } });
  expect(peers(await text(), 'add')).toEqual([]);
  take(ENDPOINT_SLICES, dns);
  const added = await text();
  expect(peers(added, 'add')).toEqual(['10.128.0.9']);
  expect(added).toContain('add element ip t named-ports/udp/dns { 10.128.0.9 . 53 }');
  take(NETWORK_POLICIES, networkPolicy({ podSelector: {} }, 'closed', 'kube-system'));
  expect(await text()).toContain('add element ip t ingress-isolated { 10.128.0.9 : goto ingress-of/# }');
  take(ENDPOINT_SLICES, { ...dns, endpoints: [] } as KubeObject, dns);
  expect(peers(await text(), 'delete')).toEqual(['10.128.0.9']);
});

test('a change of one pod or of one policy writes what concerns it, among 1,000 policies and 10,000 pods', async () => {
  const { take, text } = start();
  for (let i = 0; i < 1000; i++) {
    const ns = `ns-${i}`;
    take(NAMESPACES, namespace(ns));
    take(NETWORK_POLICIES, networkPolicy({ podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }, 'own', ns));
    // The pods of one namespace are on this host.
    for (let j = 0; j < 10; j++) {
      const number = i * 10 + j;
      take(PODS, pod(`p-${j}`, i === 7 ? `10.128.4.${j}` : `10.201.${number >> 8}.${number % 256}`, {}, ns));
    }
  }
  await text();
  const added = pod('late', '10.128.4.250', {}, 'ns-7');
  take(PODS, added);
  expect((await text()).split('\n')).toHaveLength(4);
  take(NETWORK_POLICIES, networkPolicy({ podSelector: {} }, 'second', 'ns-7'));
  // Its eleven pods get another chain, with one command that removes elements and one that adds them.
  expect((await text()).split('\n').length).toBeLessThan(10);
});

test('what is beyond the bounds stays closed and is reported; it opens when there is room', async () => {
  const { take, text, reports } = start();
  const block = (i: number) => ({ ipBlock: { cidr: `10.${i >> 14}.${(i >> 6) % 256}.${(i % 64) * 4}/32` } });
  const big = (count: number): NetworkPolicySpec => ({
    podSelector: {},
    ingress: [{ from: Array.from({ length: count }, (_, i) => block(i)) }],
  });
  take(PODS, db);
  for (let i = 0; i < 6; i++) take(NETWORK_POLICIES, networkPolicy(big(10_000), `p-${i}`));
  expect(await text()).toContain('add element ip t ingress-isolated { 10.128.4.1 : goto ingress-of/# }');
  expect(reports).toEqual(['default/p-5: 1']);
  take(NETWORK_POLICIES, undefined, networkPolicy(big(10_000), 'p-0'));
  expect(await text()).toContain('add rule ip t ingress-allowed/default/p-5 ip saddr { 10.0.0.0, ');
});

test('long work gives other work of the process its turn, and takes in what comes meanwhile', async () => {
  let now = 0;
  const { take, round, book, reports } = start({ monotonicMs: () => now++ });
  take(NETWORK_POLICIES, networkPolicy({ podSelector: {} }));
  for (let i = 0; i < 5000; i++) take(PODS, pod(`p-${i}`, '10.128.4.1'));
  const done = round();
  take(PODS, pod('late', '10.128.4.2'));
  await done;
  const isolated = book.takeChange()?.newElements.filter(({ container }) => container === 'ingress-isolated');
  expect(isolated?.map(({ key }) => key)).toEqual(['10.128.4.1', '10.128.4.2']);
  expect(reports).toEqual([]);
});

test.each<readonly [string, Resource, KubeObject]>([
  ['policies', NETWORK_POLICIES, networkPolicy({ podSelector: {} }, 'restless')],
  ['pods', PODS, pod('restless', '10.128.4.3')],
  ['namespaces', NAMESPACES, namespace('restless')],
])('%s that change all the time hold up neither new pods nor the end of the work', async (_, resource, object) => {
  let now = 0;
  const restless = () => take(resource, { ...object, metadata: { ...object.metadata, labels: { at: `${now}` } } });
  const monotonicMs = () => {
    restless();
    return now++;
  };
  const { take, round, book } = start({ monotonicMs });
  // Processing one pod takes longer than the time between two changes.
  const values = Array.from({ length: 300 }, (_, i) => `other-${i}`);
  take(
    NETWORK_POLICIES,
    networkPolicy({ podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values }] } }),
  );
  for (let i = 0; i < 1000; i++) take(PODS, pod(`p-${i}`, '10.128.4.1'));
  restless();
  await round();
  take(PODS, pod('late', '10.128.4.2'));
  await round();
  const isolated = book.takeChange()?.newElements.filter(({ container }) => container === 'ingress-isolated');
  expect(isolated?.map(({ key }) => key)).toEqual(expect.arrayContaining(['10.128.4.1', '10.128.4.2']));
});

test('a named port of a policy looks at the pods that have it alone', async () => {
  let looks = 0;
  const { take, round } = start({ monotonicMs: () => looks++ });
  for (let i = 0; i < 2000; i++) take(PODS, pod(`p-${i}`, '10.128.4.1', {}, `ns-${i}`));
  await round();
  const ports = Array.from({ length: 100 }, (_, i) => ({ port: `p${i}` }));
  take(NETWORK_POLICIES, networkPolicy({ podSelector: {}, ingress: [{ ports }] }));
  looks = 0;
  await round();
  expect(looks).toBeLessThan(20);
});
