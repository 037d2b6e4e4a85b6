import { ENDPOINT_SLICES, type KubeObject, NODES, type Pod, PODS, type Resource, SERVICES } from '@gantry/objects';
import { expect, test } from 'vitest';
import { ClusterView } from './cluster-view.ts';
import type { HostSurroundings } from './hosts/plan-hosts.ts';
import { RuleBook } from './rules/rule-book.ts';
import { formatChange } from './rules/transaction.ts';
import { endpoint, service, slice, topology } from './testing/services.ts';

function start(surroundings?: HostSurroundings) {
  const book = new RuleBook();
  const view = new ClusterView(book, topology(), surroundings);
  const take = (resource: Resource, object: KubeObject | undefined, old?: KubeObject) =>
    view.take({ kind: 'changed', resource, changes: [{ object, old }] });
  const text = () => {
    const update = view.update();
    const change = book.takeChange();
    return { ...update, text: change === undefined ? '' : formatChange('t', change) };
  };
  return { take, text };
}

const NONE = { hosts: [], refused: [] };

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'client' },
  spec: { containers: [], nodeName: 'node-a' },
  status: { podIP: '10.128.4.9', phase: 'Running' },
};
const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-a' },
  status: { addresses: [{ type: 'InternalIP', address: '10.128.0.3' }] },
};

test('slices are found whether they come before or after their Service, and are forgotten with it', () => {
  const { take, text } = start();
  const web = slice([endpoint('10.128.4.1')]);
  take(ENDPOINT_SLICES, web);
  expect(text().text).toBe('');
  take(SERVICES, service());
  expect(text().text).toContain('endpoints { 10.96.0.10 . tcp . 80 . 0 : 10.128.4.1 . 8080 }');
  take(ENDPOINT_SLICES, undefined, web);
  expect(text().text).toContain('no-endpoints { 10.96.0.10 . tcp . 80 : goto reject-packet }');
  take(SERVICES, undefined, service());
  expect(text().text).toContain('delete element ip t no-endpoints { 10.96.0.10 . tcp . 80 }');
});

test('a slice that changes its Service leaves the old one', () => {
  const { take, text } = start();
  const other = service({ clusterIP: '10.96.0.11' });
  other.metadata.name = 'other';
  const before = slice([endpoint('10.128.4.1')]);
  take(SERVICES, service());
  take(SERVICES, other);
  take(ENDPOINT_SLICES, before);
  text();
  const labels = { 'kubernetes.io/service-name': 'other' };
  take(ENDPOINT_SLICES, { ...before, metadata: { ...before.metadata, labels } }, before);
  const changed = text().text;
  expect(changed).toContain('no-endpoints { 10.96.0.10 . tcp . 80 : goto reject-packet }');
  expect(changed).toContain('services { 10.96.0.11 . tcp . 80 : goto draw/1 }');
});

test("pods' addresses are in the table only while a Service asks which Node a packet comes from", () => {
  const { take, text } = start();
  take(NODES, node);
  take(PODS, pod);
  expect(text().text).not.toContain('pods-of');
  const local = service({ internalTrafficPolicy: 'Local' });
  take(SERVICES, local);
  expect(text().text).toContain('add element ip t pods-of/node-a { 10.128.4.9 }');
  take(PODS, undefined, pod);
  expect(text().text).toBe('delete element ip t pods-of/node-a { 10.128.4.9 }\n');
  take(SERVICES, service(), local);
  expect(text().text).toContain('delete set ip t pods-of/node-a');
});

test('UDP addresses are reported when their endpoints change, and not otherwise', () => {
  const { take, text } = start();
  const dns = service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] });
  const before = slice([endpoint('10.128.4.1')], [{ name: 'dns', port: 53, protocol: 'UDP' }]);
  take(SERVICES, dns);
  take(ENDPOINT_SLICES, before);
  expect([...text().flows]).toEqual([['udp 10.96.0.10:53', new Set(['10.128.4.1'])]]);
  take(SERVICES, dns, dns);
  expect(text().flows.size).toBe(0);
  take(ENDPOINT_SLICES, { ...before, endpoints: [] } as KubeObject, before);
  expect([...text().flows]).toEqual([['udp 10.96.0.10:53', new Set()]]);
});

test('the time of a change is reported once', () => {
  const { take, text } = start();
  const triggered = slice([endpoint('10.128.4.1')]);
  const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-02T03:04:05Z' };
  triggered.metadata.annotations = annotations;
  take(ENDPOINT_SLICES, triggered);
  expect(text().triggeredAt).toEqual([Date.parse('2030-01-02T03:04:05Z')]);
  take(ENDPOINT_SLICES, { ...triggered }, triggered);
  expect(text().triggeredAt).toEqual([]);
});

const hosted = { ...node, status: { addresses: [{ type: 'InternalIP', address: '10.128.12.3' }] } };
const exposed: Pod = {
  ...pod,
  metadata: { namespace: 'default', name: 'exposed', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    nodeName: 'node-a',
    containers: [
      { name: 'main', ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '10.128.12.3' }] },
    ],
  },
};

test("a pod's host ports come with its address or its Node, whichever is later, and go with either", () => {
  const { take, text } = start();
  const element = 'host-ports { 10.128.12.3 . udp . 53';
  take(PODS, exposed);
  expect(text().text).toBe('');
  take(NODES, hosted);
  const first = text();
  expect(first.text).toContain(`add element ip t ${element} : 10.128.4.9 . 53 }`);
  expect([...first.flows]).toEqual([['udp 10.128.12.3:53', new Set(['10.128.4.9'])]]);

  const again: Pod = {
    ...exposed,
    metadata: { ...exposed.metadata, creationTimestamp: '2026-01-01T00:01:00Z' },
    status: { podIP: '10.128.4.10', phase: 'Running' },
  };
  take(PODS, again, exposed);
  const second = text();
  expect(second.text).toContain(`delete element ip t ${element} }`);
  expect(second.text).toContain(`add element ip t ${element} : 10.128.4.10 . 53 }`);
  take(PODS, undefined, again);
  const gone = text();
  expect(gone.text).toContain(`delete element ip t ${element} }`);
  expect([...gone.flows]).toEqual([['udp 10.128.12.3:53', new Set()]]);
  take(PODS, again);
  text();
  take(NODES, undefined, hosted);
  expect(text().text).toContain(`delete element ip t ${element} }`);
});

test("the host's addresses and health checks are reported when they change", () => {
  const { take, text } = start();
  expect(text().host).toEqual({ addresses: new Set(), healthChecks: [], others: NONE });
  take(NODES, hosted);
  const balanced = service({ type: 'LoadBalancer' }, ['10.128.10.7']);
  take(SERVICES, balanced);
  const both = text();
  expect(both.host?.addresses).toEqual(new Set(['10.128.12.3', '10.128.10.7']));
  expect(both.text).toContain('add element ip t load-balancer-addresses { 10.128.10.7 }');
  take(SERVICES, balanced, balanced);
  expect(text().host).toBeUndefined();
  const local = service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_500 });
  take(SERVICES, local, balanced);
  const without = text().host;
  expect(without?.addresses).toEqual(new Set(['10.128.12.3']));
  expect(without?.healthChecks).toMatchObject([{ port: 30_500, onHost: 0 }]);
  const web = slice([endpoint('10.128.4.1', { nodeName: 'node-a' })]);
  take(ENDPOINT_SLICES, web);
  expect(text().host?.healthChecks).toMatchObject([{ port: 30_500, onHost: 1 }]);
  take(SERVICES, undefined, local);
  expect(text().host).toEqual({ addresses: new Set(['10.128.12.3']), healthChecks: [], others: NONE });
});

test('another host is reported with its rules, and goes with its last Node', () => {
  const { clusterRange, podCidr } = topology();
  const { take, text } = start({ hostAddress: '192.0.2.1', podCidr, clusterRange, reservedRanges: [] });
  const other = {
    ...node,
    metadata: {
      name: 'node-b',
      labels: { 'gantry.dev/engine': 'b' },
      annotations: { 'gantry.dev/host-address': '192.0.2.2' },
    },
    spec: { podCIDR: '10.128.16.0/20' },
  };
  text();
  take(NODES, other);
  const found = text();
  expect(found.host?.others.hosts).toEqual([{ address: '192.0.2.2', cidr: '10.128.16.0/20' }]);
  expect(found.text).toContain('add element ip t tunnel-sources { 192.0.2.2 : goto tunnel-from/192.0.2.2 }');
  // The Node reports an address of this host, but it gets none.
  expect(found.host?.addresses).toEqual(new Set());
  take(NODES, undefined, other);
  const gone = text();
  expect(gone.host?.others).toEqual(NONE);
  expect(gone.text).toContain('delete element ip t other-hosts { 10.128.16.0/20 }');
});
