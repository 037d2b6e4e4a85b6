import { HOSTNAME_LABEL, type TopologySpreadConstraint, ZONE_LABEL } from '@gantry/objects';
import { expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { SpreadCounts } from '../../framework/spread-counts.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { spreadBy } from '../../testing/spread-examples.ts';
import { evenSpread } from './even-spread.ts';

const NODES = [
  exampleNode('a1', { labels: { zone: 'a', [HOSTNAME_LABEL]: 'a1' } }),
  exampleNode('a2', { labels: { zone: 'a', [HOSTNAME_LABEL]: 'a2' } }),
  exampleNode('b1', { labels: { zone: 'b', [HOSTNAME_LABEL]: 'b1' } }),
  exampleNode('none'),
];
const anyway = (key: string, more: Partial<TopologySpreadConstraint> = {}) =>
  spreadBy(key, { whenUnsatisfiable: 'ScheduleAnyway', ...more });

// The formula of scoring.go in Kubernetes 1.36: the sum of count * log(domains + 2) + maxSkew - 1, inverted and scaled to 100.
it.each<readonly [string, readonly TopologySpreadConstraint[], readonly string[], readonly number[]]>([
  // The sums are 3, 3 and 1. 1.386 is log(2 + 2), for two zones.
  ['zones', [anyway('zone')], ['a1', 'a2', 'b1'], [33, 33, 100, 0]],
  // The sums are 2, 0 and 2. 1.609 is log(3 + 2), for three nodes.
  ['nodes', [anyway(HOSTNAME_LABEL)], ['a1', 'b1'], [0, 100, 0, 0]],
  ['zones and nodes', [anyway('zone'), anyway(HOSTNAME_LABEL)], ['a1'], [0, 66, 100, 0]],
  ['a larger skew lessens differences', [anyway('zone', { maxSkew: 5 })], ['a1', 'a2', 'b1'], [71, 71, 100, 0]],
  ['an empty selector, which counts none', [anyway('zone', { labelSelector: {} })], ['a1'], [100, 100, 100, 0]],
  ['no pods', [anyway('zone')], [], [100, 100, 100, 0]],
  ['constraints that exclude nodes rank none', [spreadBy('zone')], ['a1'], [0, 0, 0, 0]],
])('ranks nodes by %s', (_, constraints, running, expected) => {
  const pods = running.map((node, i) => examplePod(`w${i}`, { node, labels: { app: 'web' }, owner: 'rs' }));
  const { nodes, services } = exampleSnapshot(NODES, pods);
  const labels = { app: 'web' };
  const waiting = examplePod('p', { labels, owner: 'rs', spec: { topologySpreadConstraints: [...constraints] } });
  const info = new SpreadCounts().withSpreading(createPodInfo(waiting), nodes, services);
  expect(pointsOf(evenSpread.score(info, nodes), nodes.length)).toEqual(expected);
});

// Kubernetes' default constraints: the sum of count * log(nodes + 2) + 2 and count * log(zones + 2) + 4, for each label that a node has.
it.each([
  ['pods of the same owner', { owner: 'rs', labels: { app: 'other' } }, { app: 'web' }],
  ['pods of the same Service', { labels: { app: 'web' } }, { app: 'web' }],
])('spreads %s over nodes and zones', (_, running, labels) => {
  const zoned = (name: string, zone: string) =>
    exampleNode(name, { labels: { [HOSTNAME_LABEL]: name, [ZONE_LABEL]: zone } });
  const all = [
    zoned('a1', 'a'),
    zoned('a2', 'a'),
    zoned('b1', 'b'),
    exampleNode('c', { labels: { [HOSTNAME_LABEL]: 'c' } }),
  ];
  const owner = 'owner' in running ? { owner: running.owner } : {};
  const pods = ['a1', 'a1', 'a2'].map((node, i) => examplePod(`w${i}`, { node, ...running }));
  const service = (namespace: string, selector: Record<string, string>) =>
    ({ apiVersion: 'v1', kind: 'Service', metadata: { name: namespace, namespace }, spec: { selector } }) as const;
  const { nodes, services } = exampleSnapshot(all, pods, [], {}, [
    service('default', { app: 'web' }),
    service('other', { app: 'web', no: 'pod' }),
  ]);
  const counts = new SpreadCounts();
  const score = (name: string, more: object) =>
    evenSpread.score(
      counts.withSpreading(createPodInfo(examplePod(name, { labels, ...more })), nodes, services),
      nodes,
    );
  // The sums are 14, 13, 6 and 2: 1.792 is log(4 + 2) for the nodes, 1.609 log(3 + 2) for two zones and nodes without one.
  expect(score('p', owner)).toEqual([14, 21, 71, 100]);
  expect(score('r', { labels: { app: 'alone' } })).toBe(0);
});
