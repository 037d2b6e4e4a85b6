import { describe, expect, it } from 'vitest';
import { formatIpv4, isWithin } from './ipv4.ts';
import { containerAddressOf, gatewayOf, nodeAddressOf, podAddresses } from './pod-addresses.ts';

const RANGE = '10.128.0.0/20';

describe('the addresses of a pod network', () => {
  it('are divided into parts that do not overlap and leave the broadcast address out', () => {
    const parts = podAddresses(RANGE);
    const texts = Object.entries(parts ?? {}).map(([name, { first, last }]) => [
      name,
      formatIpv4(first),
      formatIpv4(last),
    ]);
    expect(texts).toEqual([
      ['containers', '10.128.0.0', '10.128.3.255'],
      ['pods', '10.128.4.0', '10.128.8.255'],
      ['enginePods', '10.128.9.0', '10.128.9.255'],
      ['loadBalancers', '10.128.10.0', '10.128.11.255'],
      ['nodes', '10.128.12.0', '10.128.15.254'],
    ]);
  });

  it.each(Array.from({ length: 21 }, (_, index) => index + 8))(
    'of a range of %d bits have no gap and no overlap',
    (bits) => {
      const size = 2 ** (32 - bits);
      const { containers, ...others } = podAddresses(`10.131.255.255/${bits}`) ?? { containers: { first: 0, last: 0 } };
      expect(containers.first % size).toBe(0);
      let { last } = containers;
      for (const [name, part] of Object.entries(others)) {
        expect([name, part.first, part.last >= part.first]).toEqual([name, last + 1, true]);
        last = part.last;
      }
      expect(last).toBe(containers.first + size - 2);
    },
  );

  it.each(['10.128.0.0', '10.128.0.0/7', '10.128.0.0/29', '10.128.0.256/20', 'fd00::/8', ''])(
    'of %j are none',
    (text) => {
      expect(podAddresses(text)).toBeUndefined();
      expect(gatewayOf(text)).toBeUndefined();
      expect(nodeAddressOf(text, '10.128.0.3')).toBeUndefined();
    },
  );

  it.each<readonly [string, string | undefined]>([
    ['10.128.0.3', '10.128.12.3'],
    ['10.128.3.254', '10.128.15.254'],
    ['10.128.3.255', undefined],
    ['10.128.4.0', undefined],
    ['192.0.2.1', undefined],
    ['010.128.0.3', undefined],
  ])('of the Node of the agent at %s is %s, and back', (container, node) => {
    expect(nodeAddressOf(RANGE, container)).toBe(node);
    if (node !== undefined) expect(containerAddressOf(RANGE, node)).toBe(container);
  });

  it('that are of another part lead to no container', () => {
    for (const address of ['10.128.0.3', '10.128.11.255', '10.128.15.255'])
      expect(containerAddressOf(RANGE, address)).toBeUndefined();
  });

  it('are found in their part', () => {
    const { nodes } = podAddresses(RANGE) ?? { nodes: { first: 0, last: 0 } };
    expect(['10.128.12.0', '10.128.15.254', '10.128.15.255', 'x'].map((one) => isWithin(nodes, one))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
