import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../generated/types.ts';
import { type HostPort, hostPortsClash, hostPortsOf, sidecarNames } from './host-ports.ts';

const container = (port: object) => ({ name: 'c', image: 'i', ports: [{ containerPort: 80, ...port }] });

describe('host ports', () => {
  it.each<[string, PodSpec, readonly HostPort[]]>([
    ['none', { containers: [container({})] }, []],
    ['zero, which is none', { containers: [container({ hostPort: 0 })] }, []],
    [
      'one on all addresses, of TCP where nothing is said',
      { containers: [container({ hostPort: 8080 })] },
      [{ protocol: 'TCP', address: '0.0.0.0', port: 8080 }],
    ],
    [
      'one on an address',
      { containers: [container({ hostPort: 53, hostIP: '10.0.0.1', protocol: 'UDP' })] },
      [{ protocol: 'UDP', address: '10.0.0.1', port: 53 }],
    ],
    [
      'that of a sidecar, not that of an init container that ends',
      {
        containers: [],
        initContainers: [container({ hostPort: 1 }), { ...container({ hostPort: 2 }), restartPolicy: 'Always' }],
      },
      [{ protocol: 'TCP', address: '0.0.0.0', port: 2 }],
    ],
  ])('of a pod are %s', (_, spec, expected) => {
    expect(hostPortsOf({ spec })).toEqual(expected);
  });

  const port: HostPort = { protocol: 'TCP', address: '10.0.0.1', port: 80 };
  it.each<[boolean, Partial<HostPort>]>([
    [true, {}],
    [true, { address: '0.0.0.0' }],
    [false, { address: '10.0.0.2' }],
    [false, { protocol: 'UDP' }],
    [false, { port: 81 }],
  ])('clash: %s, with the change %j', (expected, change) => {
    expect(hostPortsClash(port, { ...port, ...change })).toBe(expected);
    expect(hostPortsClash({ ...port, ...change }, port)).toBe(expected);
  });
});

it('sidecars are the init containers that are always restarted', () => {
  const initContainers = [
    { name: 'once', image: 'i' },
    { name: 'lasting', image: 'i', restartPolicy: 'Always' },
  ];
  expect(sidecarNames({ spec: { containers: [container({})], initContainers } })).toEqual(new Set(['lasting']));
  expect(sidecarNames({})).toEqual(new Set());
});
