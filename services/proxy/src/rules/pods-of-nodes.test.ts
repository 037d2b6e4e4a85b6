import type { Node, Pod } from '@gantry/objects';
import { expect, test } from 'vitest';
import { NODE_A, topology } from '../testing/services.ts';
import { nodesOfHost, planNodeAddresses, planPodsOf } from './pods-of-nodes.ts';

const { podRange, podCidr } = topology();

function node(name: string, address: string, labels: Record<string, string> = {}): Node {
  const addresses = [
    { type: 'Hostname', address: name },
    { type: 'InternalIP', address },
  ];
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, status: { addresses } };
}

test("Nodes of this host have an InternalIP among its pods' addresses", () => {
  const zone = { 'topology.kubernetes.io/zone': 'east' };
  const nodes = nodesOfHost(
    [node('b', '10.128.0.4'), node('a', '10.128.0.3', zone), node('far', '10.9.0.1')],
    podRange,
    'own-pods',
  );
  expect([...nodes.values()]).toEqual([
    { name: 'a', address: '10.128.0.3', zone: 'east' },
    { name: 'b', address: '10.128.0.4', zone: '' },
  ]);
  expect(planNodeAddresses(nodes, podCidr).elements.map(({ key }) => key)).toEqual(['10.128.0.3', '10.128.0.4']);
});

test('a Node whose range is that of another host is none of this one, whatever address its agent reports', () => {
  const claiming = (name: string, podCIDR: string): Node => ({ ...node(name, '10.128.12.4'), spec: { podCIDR } });
  const nodes = nodesOfHost([claiming('evil', '10.128.16.0/20'), claiming('bad', 'x')], podRange, 'other-hosts');
  expect([...nodes]).toEqual([]);
  expect([...nodesOfHost([claiming('own', podCidr)], podRange, 'other-hosts').keys()]).toEqual(['own']);
});

test('where there are no other hosts, a Node keeps its address with the range of before', () => {
  const before: Node = { ...node('a', '10.128.12.3'), spec: { podCIDR: '10.200.0.0/20' } };
  expect([...nodesOfHost([before], podRange, 'own-pods').keys()]).toEqual(['a']);
});

test("an address that the host has for a Node leads to the Node's agent", () => {
  const nodes = nodesOfHost([node('a', '10.128.12.3')], podRange, 'own-pods');
  expect(planNodeAddresses(nodes, podCidr).elements).toEqual([
    { container: 'node-addresses', key: '10.128.12.3', value: '' },
    { container: 'agents', key: '10.128.12.3', value: '10.128.0.3' },
  ]);
});

test("a Node's pods are those with an address of their own", () => {
  const pod = (podIP: string, change: Partial<Pod> = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podIP },
    status: { podIP, phase: 'Running' },
    ...change,
  });
  const pods = [
    pod('10.128.4.1'),
    pod('10.128.0.3', { spec: { containers: [], hostNetwork: true } }),
    pod('10.128.4.2', { status: { podIP: '10.128.4.2', phase: 'Succeeded' } }),
    pod('', { status: {} }),
  ];
  const { elements, sets } = planPodsOf(NODE_A, pods, podRange);
  expect(elements).toEqual([{ container: 'pods-of/node-a', key: '10.128.4.1', value: '' }]);
  expect([...sets.keys()]).toEqual(['pods-of/node-a']);
});
