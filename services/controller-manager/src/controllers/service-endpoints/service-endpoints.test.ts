import type { EndpointSubset } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { sortEndpointPorts, sortSlicePorts } from './port-order.ts';
import { repackSubsets } from './subsets.ts';
import { triggerTime } from './trigger-time.ts';

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
      'take an address that is both ready and not for one that is not',
      [
        { addresses: [a], ports: [port('x')] },
        { notReadyAddresses: [a], ports: [port('x')] },
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
