import type { Node } from '@gantry/objects';
import { describe, expect, it, test } from 'vitest';
import { EvictionLimiter } from './evictions.ts';
import { EVICTION_RATES, evictionRate, type ZoneHealth, zoneHealths, zoneOf, zoneState } from './zones.ts';

function node(name: string, labels: Record<string, string> = {}): Node {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
}

describe('the zone of a node', () => {
  it('is its region and zone', () => {
    const zone = { 'topology.kubernetes.io/zone': 'z' };
    const region = { 'topology.kubernetes.io/region': 'r' };
    const old = { 'failure-domain.beta.kubernetes.io/zone': 'z' };
    expect(zoneOf(node('n'))).toBe('');
    expect(zoneOf(node('n', zone))).toBe(zoneOf(node('n', old)));
    const zones = [{}, zone, region, { ...zone, ...region }].map((labels) => zoneOf(node('n', labels)));
    expect(new Set(zones).size).toBe(4);
  });
});

describe('the state of a zone', () => {
  test.each([
    [0, 0, 'normal'],
    [0, 1, 'full'],
    [0, 9, 'full'],
    [1, 2, 'normal'],
    [2, 3, 'partial'],
    [3, 3, 'normal'],
    [45, 55, 'partial'],
    [46, 54, 'normal'],
  ])('with %i ready and %i other nodes is %s', (ready, notReady, expected) => {
    expect(zoneState({ ready, notReady }, EVICTION_RATES)).toBe(expected);
  });

  it('does not count excluded nodes', () => {
    const excluded = { 'node.kubernetes.io/exclude-disruption': '' };
    const healths = zoneHealths([node('a'), node('b'), node('c', excluded)], ({ metadata }) => metadata.name === 'a');
    expect([...healths]).toEqual([['', { ready: 1, notReady: 1 }]]);
  });
});

describe('the rate of evictions', () => {
  const rate = (zones: Record<string, [ready: number, notReady: number]>) =>
    evictionRate(
      'z',
      new Map(
        Object.entries(zones).map(([name, [ready, notReady]]): [string, ZoneHealth] => [name, { ready, notReady }]),
      ),
      EVICTION_RATES,
    );

  test.each<[string, Record<string, [number, number]>, number | undefined]>([
    ['a zone that is well', { z: [5, 1] }, 1],
    ['a small zone of which much is lost', { z: [20, 30] }, 0],
    ['a large zone of which much is lost', { z: [20, 31] }, 0.1],
    ['a zone that is lost while another is not', { z: [0, 9], other: [1, 0] }, 1],
    ['a zone that is lost while of another much is', { z: [0, 9], other: [2, 8] }, 1],
    ['the only zone, which is lost', { z: [0, 9] }, undefined],
    ['zones that all are lost', { z: [0, 9], other: [0, 1] }, undefined],
    ['a zone of excluded nodes', {}, 1],
  ])('of %s', (_, zones, expected) => {
    expect(rate(zones)).toBe(expected);
  });
});

describe('the limiter', () => {
  it('allows one node at once and the next at the rate of the zone', () => {
    const limiter = new EvictionLimiter();
    expect(limiter.waitMs('a', 'z', 2, 1000)).toBe(0);
    expect(limiter.waitMs('b', 'z', 2, 1000)).toBe(500);
    expect(limiter.waitMs('b', 'z', 2, 1400)).toBeCloseTo(100);
    expect(limiter.waitMs('b', 'z', 2, 1500)).toBe(0);
    expect(limiter.waitMs('c', 'other', 2, 1500)).toBe(0);
    expect(limiter.waitMs('d', 'z', 2, 90_000)).toBe(0);
    expect(limiter.waitMs('e', 'z', 2, 90_000)).toBe(500);
  });

  it('takes no second token for a node, until it is ready again', () => {
    const limiter = new EvictionLimiter();
    expect(limiter.waitMs('a', 'z', 1, 0)).toBe(0);
    expect(limiter.waitMs('a', 'z', 1, 0)).toBe(0);
    limiter.forget('a');
    expect(limiter.waitMs('a', 'z', 1, 0)).toBe(1000);
    limiter.reset();
    expect(limiter.waitMs('a', 'z', 1, 0)).toBe(0);
  });

  it('allows none at a rate of 0, and collects no tokens then', () => {
    const limiter = new EvictionLimiter();
    expect(limiter.waitMs('a', 'z', 0, 0)).toBe(Number.POSITIVE_INFINITY);
    expect(limiter.waitMs('a', 'z', 1, 60_000)).toBe(0);
    expect(limiter.waitMs('b', 'z', 0, 120_000)).toBe(Number.POSITIVE_INFINITY);
    expect(limiter.waitMs('b', 'z', 1, 120_500)).toBe(500);
  });
});
