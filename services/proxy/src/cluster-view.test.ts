import { ENDPOINT_SLICES, type KubeObject, NODES, type Pod, PODS, type Resource, SERVICES } from '@gantry/objects';
import { expect, test } from 'vitest';
import { ClusterView } from './cluster-view.ts';
import { RuleBook } from './rules/rule-book.ts';
import { formatChange } from './rules/transaction.ts';
import { endpoint, service, slice, topology } from './testing/services.ts';

function start() {
  const book = new RuleBook();
  const view = new ClusterView(book, topology());
  const take = (resource: Resource, object: KubeObject | undefined, old?: KubeObject) =>
    view.take({ kind: 'changed', resource, changes: [{ object, old }] });
  const text = () => {
    const update = view.update();
    const change = book.takeChange();
    return { ...update, text: change === undefined ? '' : formatChange('t', change) };
  };
  return { take, text };
}

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
  expect([...text().udp]).toEqual([['10.96.0.10:53', new Set(['10.128.4.1'])]]);
  take(SERVICES, dns, dns);
  expect(text().udp.size).toBe(0);
  take(ENDPOINT_SLICES, { ...before, endpoints: [] } as KubeObject, before);
  expect([...text().udp]).toEqual([['10.96.0.10:53', new Set()]]);
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
