import type { Endpoint, EndpointSlice, EndpointSubset } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { packSlices } from './packing.ts';
import { triggerTime, watchServicePods } from './service-pods.ts';
import { sortEndpointPorts, sortSlicePorts } from './service-ports.ts';
import { OwnSlices } from './slice-writes.shell.ts';
import { watchSlices } from './slices.ts';
import { repackSubsets } from './subsets.ts';
import { sketchPod, sketchService } from '../../testing/service-fixtures.ts';

describe('the order of ports', () => {
  const ports = [
    { name: 'http', port: 8080, protocol: 'TCP' },
    { name: 'https', port: 8097, protocol: 'TCP' },
    { name: 'metrics', port: 8114, protocol: 'TCP' },
    { name: 'dns', port: 8131, protocol: 'UDP' },
    { name: 'dns-tcp', port: 8148, protocol: 'TCP' },
    { name: 'grpc', port: 8165, protocol: 'TCP' },
    { name: 'ws', port: 8182, protocol: 'TCP', appProtocol: 'kubernetes.io/ws' },
    { name: '', port: 8199, protocol: 'TCP' },
  ];
  const names = (sorted: readonly { readonly name?: string }[]) => sorted.map(({ name }) => name);

  // Both orders were computed with Kubernetes' libraries.
  it('is that of Kubernetes, in Endpoints and in slices', () => {
    expect(names(sortEndpointPorts(ports))).toEqual(['http', 'grpc', 'dns', 'ws', 'dns-tcp', 'metrics', 'https', '']);
    expect(names(sortSlicePorts(ports))).toEqual(['http', 'grpc', 'https', '', 'ws', 'dns', 'dns-tcp', 'metrics']);
  });
});

describe('packed subsets', () => {
  const port = (name: string) => ({ name, port: 1, protocol: 'TCP' });
  const [a, b] = [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }];

  it.each<[string, EndpointSubset[], EndpointSubset[]]>([
    [
      'join addresses with the same ports',
      [
        { addresses: [b], ports: [port('x')] },
        { addresses: [a], ports: [port('x')] },
      ],
      [{ addresses: [a, b], ports: [port('x')] }],
    ],
    [
      'keep addresses with different ports apart',
      [
        { addresses: [a, b], ports: [port('x')] },
        { addresses: [a], ports: [port('y')] },
      ],
      [
        { addresses: [a, b], ports: [port('x')] },
        { addresses: [a], ports: [port('y')] },
      ],
    ],
    [
      'keep ports apart for one of which an address is ready, and not for the other',
      [
        { addresses: [a], ports: [port('x')] },
        { notReadyAddresses: [a], ports: [port('y')] },
      ],
      [
        { addresses: [a], ports: [port('x')] },
        { notReadyAddresses: [a], ports: [port('y')] },
      ],
    ],
    [
      'join ports that have the same addresses in different subsets',
      [
        { addresses: [a, b], ports: [port('x')] },
        { addresses: [a], ports: [port('y'), port('z')] },
        { addresses: [b], ports: [port('z'), port('y')] },
      ],
      [{ addresses: [a, b], ports: [port('z'), port('y'), port('x')] }],
    ],
    [
      'take an address that is both ready and not for one that is not',
      [
        { addresses: [a], ports: [port('x')] },
        { notReadyAddresses: [a], ports: [port('x')] },
      ],
      [{ notReadyAddresses: [a], ports: [port('x')] }],
    ],
    [
      'do so whichever comes first',
      [
        { notReadyAddresses: [a], ports: [port('x')] },
        { addresses: [a], ports: [port('x')] },
      ],
      [{ notReadyAddresses: [a], ports: [port('x')] }],
    ],
    ['keep addresses without ports', [{ addresses: [a] }, { addresses: [b] }], [{ addresses: [a, b] }]],
    [
      'keep two pods with one address apart',
      [
        {
          addresses: [
            { ...a, targetRef: { uid: '2' } },
            { ...a, targetRef: { uid: '1' } },
          ],
          ports: [port('x')],
        },
      ],
      [
        {
          addresses: [
            { ...a, targetRef: { uid: '1' } },
            { ...a, targetRef: { uid: '2' } },
          ],
          ports: [port('x')],
        },
      ],
    ],
  ])('%s', (_, subsets, packed) => {
    expect(repackSubsets(subsets)).toEqual(packed);
    expect(repackSubsets(packed)).toEqual(packed);
  });
});

describe('the time of the change that endpoints follow', () => {
  const pod = (name: string, second: number) => sketchPod({ name, readySince: `2030-01-01T00:00:${second}Z` });
  const service = sketchService();
  const first = triggerTime(undefined, service, [pod('a', 20), pod('b', 30)]);

  it('is the creation of the Service at first', () => {
    expect(first.time).toBe('2030-01-01T00:00:00Z');
  });

  it('is that of the earliest pod that has changed since, if one has', () => {
    const next = triggerTime(first.seen, service, [pod('a', 20), pod('b', 50), pod('c', 40)]);
    expect(next.time).toBe('2030-01-01T00:00:40Z');
    expect(triggerTime(next.seen, service, [pod('a', 20), pod('b', 50)]).time).toBeUndefined();
  });
});

describe('packed slices', () => {
  const endpoint = (ip: string): Endpoint => ({ addresses: [ip] });
  const slice = (name: string, ...ips: string[]): EndpointSlice => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: {} },
    addressType: 'IPv4',
    endpoints: ips.map(endpoint),
  });
  const packing = { max: 4, labels: {}, newSlice: () => slice('new') };

  it('that change anyway are filled up, the fullest first', () => {
    const existing = [slice('half', 'a', 'gone-1'), slice('full', 'b', 'c', 'd', 'gone-2')];
    const { create, update, remove } = packSlices(existing, ['a', 'b', 'c', 'd', 'e'].map(endpoint), packing);
    expect([create, remove]).toEqual([[], []]);
    expect(update.map(({ metadata, endpoints = [] }) => [metadata.name, endpoints.length])).toEqual([
      ['full', 4],
      ['half', 1],
    ]);
  });
});

describe('what queues a Service', () => {
  const NAMESPACE = 'n';
  const service = sketchService();
  const cache = { selecting: () => [service] } as unknown as Parameters<typeof watchServicePods.keys>[2];
  const before = sketchPod({ name: 'a', ip: '10.0.0.1' });
  const key = { namespace: NAMESPACE, name: 'sv' };

  it.each([
    ['a new pod', before, undefined, 1],
    ['a pod that is gone', undefined, before, 1],
    ['its readiness', sketchPod({ name: 'a', ip: '10.0.0.1', ready: false }), before, 1],
    ['its address', sketchPod({ name: 'a', ip: '10.0.0.2' }), before, 1],
    ['its deletion', sketchPod({ name: 'a', ip: '10.0.0.1', deleted: true }), before, 1],
    ['its end', sketchPod({ name: 'a', ip: '10.0.0.1', phase: 'Failed' }), before, 1],
    ['its labels', sketchPod({ name: 'a', ip: '10.0.0.1', labels: { app: 'b' } }), before, 1],
    ['nothing that endpoints say', { ...before, metadata: { ...before.metadata, annotations: { x: 'y' } } }, before, 0],
  ])('%s', (_, pod, old, count) => {
    expect(watchServicePods.keys(pod, old, cache)).toEqual(Array(count).fill(key));
  });

  it('a slice of the manager that another writer changed, not its own write', () => {
    const own = new OwnSlices();
    const { keys } = watchSlices('me', (one) => own.isOwnWrite(one));
    const labels = { 'kubernetes.io/service-name': 'sv', 'endpointslice.kubernetes.io/managed-by': 'me' };
    const at = (resourceVersion: string, change: Record<string, string> = {}): EndpointSlice => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 's', namespace: NAMESPACE, uid: 's', resourceVersion, labels: { ...labels, ...change } },
      addressType: 'IPv4',
    });
    own.note(at('1'));
    expect(keys(at('1'), undefined, cache)).toEqual([]);
    expect(keys(at('2'), at('1'), cache)).toEqual([key]);
    const moved = keys(at('3', { 'kubernetes.io/service-name': 'other' }), at('2'), cache);
    expect(moved).toEqual([key, { ...key, name: 'other' }]);
    expect(keys(at('4', { 'endpointslice.kubernetes.io/managed-by': 'x' }), at('3'), cache)).toEqual([key]);
    expect(keys(undefined, at('4'), cache)).toEqual([key]);
  });
});
