import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { findPodBridge, firstAddress, linkIndex } from './pod-bridge.ts';

const IGMP = `Idx	Device    : Count Querier	Group    Users Timer	Reporter
1	lo        :     1      V3
				010000E0     1 0:00000000		0
4	eth0      :     1      V3
				010000E0     1 0:00000000		0
17	gtp-gantry-a1b2c:     1      V3
				010000E0     1 0:00000000		0
`;

const NETWORK = {
  Id: '0123456789abcdef',
  Driver: 'bridge',
  EnableIPv6: false,
  IPAM: { Config: [{ Subnet: '10.1.0.0/24' }] },
} as Docker.NetworkInspectInfo;

describe('the bridge of a network of pods', () => {
  it.each([
    ['lo', 1],
    ['eth0', 4],
    ['gtp-gantry-a1b2c', 17],
    ['eth', undefined],
    ['010000E0', undefined],
  ])('%s has the index %s', (link, index) => {
    expect(linkIndex(IGMP, link)).toBe(index);
  });

  it.each([
    ['10.1.0.0/24', undefined, '10.1.0.1'],
    ['10.128.0.0/20', '10.128.0.0/22', '10.128.0.1'],
    ['10.128.0.0/20', '10.128.4.0/22', '10.128.4.0'],
  ])('the gateway of %s with the range %s is %s', (subnet, range, gateway) => {
    expect(firstAddress(subnet, range)).toBe(gateway);
  });

  it.each([
    ['is not a bridge', { Driver: 'macvlan' }],
    ['has IPv6 addresses, too', { EnableIPv6: true }],
    ['has no range', { IPAM: { Config: [] } }],
    ['is on another host', {}],
  ])('is left to the engine where the network %s', async (_, change) => {
    expect(await findPodBridge({ ...NETWORK, ...change })).toBeUndefined();
  });
});
