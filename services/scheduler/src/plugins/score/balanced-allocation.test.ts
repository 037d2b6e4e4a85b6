import { expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { balancedAllocation } from './balanced-allocation.ts';

// a: 1 of 2 cpu, no memory. b: nothing. c has no memory to allocate.
const NODES = [
  exampleNode('a', { cpu: '2', memory: '4Gi' }),
  exampleNode('b', { cpu: '2', memory: '4Gi' }),
  exampleNode('c', { cpu: '2', memory: '0' }),
];
const { nodes } = exampleSnapshot(NODES, [examplePod('x', { cpu: '1', node: 'a' })]);

// 50 + (50 + after - before) / 2, where each of both is 100 - 50 * |share of cpu - share of memory|.
it.each([
  ['half of the memory brings the first in balance', { memory: '2Gi' }, [87, 62, 75]],
  ['half of the cpu makes it worse', { cpu: '1' }, [62, 62, 75]],
  ['equal shares change nothing', { cpu: '500m', memory: '1Gi' }, [75, 75, 75]],
  ['a pod without requests is not ranked', {}, [0, 0, 0]],
])('%s', (_, requests, expected) => {
  const points = balancedAllocation.score(createPodInfo(examplePod('p', requests)), nodes);
  expect(pointsOf(points, nodes.length)).toEqual(expected);
});
