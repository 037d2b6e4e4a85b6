import type { NodeSelectorTerm } from '@gantry/objects';
import { expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { planAssignments } from '../../plan.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { preferNodes } from './prefer-nodes.ts';

const NODES = [
  exampleNode('a', { labels: { disk: 'ssd', zone: 'x' } }),
  exampleNode('b', { labels: { disk: 'ssd' } }),
  exampleNode('c', { labels: { disk: 'hdd' } }),
];
const inDisk = (value: string) => ({ matchExpressions: [{ key: 'disk', operator: 'In', values: [value] }] });
const hasZone = { matchExpressions: [{ key: 'zone', operator: 'Exists' }] };

function podWith(...terms: (readonly [number, NodeSelectorTerm])[]) {
  const preferred = terms.map(([weight, preference]) => ({ weight, preference }));
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred };
  return createPodInfo(examplePod('p', { spec: { affinity: { nodeAffinity } } }));
}

it.each([
  [
    'the sum of the weights',
    [
      [60, inDisk('ssd')],
      [30, hasZone],
    ],
    [100, 66, 0],
  ],
  ['nothing for a term that matches no node', [[60, inDisk('nvme')]], [0, 0, 0]],
  [
    'nothing for an empty term',
    [
      [100, {}],
      [1, inDisk('hdd')],
    ],
    [0, 0, 100],
  ],
] as const)('scores %s', (_, terms, expected) => {
  const points = preferNodes.score(podWith(...terms), exampleSnapshot(NODES).nodes);
  expect(pointsOf(points, NODES.length)).toEqual(expected);
});

it('assigns a pod to the node that it prefers, though another has more room', () => {
  const busy = Array.from({ length: 3 }, (_, i) => examplePod(`busy-${i}`, { node: 'c', cpu: '200m' }));
  const [decision] = planAssignments(exampleSnapshot(NODES, busy), [podWith([1, inDisk('hdd')])], 1);
  expect(decision).toMatchObject({ kind: 'assign', nodeName: 'c' });
});
