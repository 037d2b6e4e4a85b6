import { HOSTNAME_LABEL, type TopologySpreadConstraint } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createPodInfo } from '../../framework/pod-info.ts';
import { CountedNodes } from '../../framework/snapshot.ts';
import { SpreadCounts } from '../../framework/spread-counts.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { spreadBy } from '../../testing/spread-examples.ts';
import { evenSpread } from './even-spread.ts';
import { spreadByOwner } from './spread-by-owner.ts';

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
  const { nodes } = exampleSnapshot(NODES, pods);
  const labels = { app: 'web' };
  const waiting = examplePod('p', { labels, owner: 'rs', spec: { topologySpreadConstraints: [...constraints] } });
  const info = new SpreadCounts(new CountedNodes(nodes)).withSpreading(createPodInfo(waiting));
  expect(evenSpread.score(info, nodes)).toEqual(expected);
  // The pod has constraints of its own, so the owner does not matter.
  expect(spreadByOwner.score(info, nodes)).toEqual([100, 100, 100, 100]);
});
