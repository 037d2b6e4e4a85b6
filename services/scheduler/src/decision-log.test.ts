import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { DecisionLog } from './decision-log.ts';
import { createPodInfo } from './framework/pod-info.ts';
import { planAssignments } from './plan.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';

test('a decision shows the points of the nodes that fit, and why the others do not', () => {
  const log = new DecisionLog(new ManualClock());
  const nodes = [
    exampleNode('full', { cpu: '1' }),
    exampleNode('used', { cpu: '4' }),
    exampleNode('free', { cpu: '4' }),
  ];
  const snapshot = exampleSnapshot(nodes, [examplePod('x', { cpu: '2', node: 'used' })]);
  const decide = (name: string, cpu: string) =>
    log.add(planAssignments(snapshot, [createPodInfo(examplePod(name, { cpu }))], 1));
  decide('web', '1100m');
  decide('large', '100');
  const [large, web] = log.list();
  expect(web).toMatchObject({
    pod: { name: 'web' },
    outcome: 'assigned',
    node: 'free',
    nodeCount: 3,
    feasibleCount: 2,
    refusedCount: 1,
    nodes: [
      { node: 'free', score: expect.any(Number) },
      { node: 'used', score: expect.any(Number) },
      { node: 'full', refusedBy: 'NodeResourcesFit', reasons: ['Insufficient cpu'] },
    ],
  });
  for (const { score, scores = [] } of web?.nodes.slice(0, 2) ?? []) {
    expect(scores.length).toBeGreaterThan(1);
    expect(scores.reduce((sum, { weight, points }) => sum + weight * points, 0)).toBe(score);
  }
  expect(web?.nodes[0]?.score).toBeGreaterThan(web?.nodes[1]?.score ?? Infinity);
  expect(large).toMatchObject({ outcome: 'refused', node: '', feasibleCount: 0, refusedCount: 3 });
  expect(large?.message).toContain('0/3 nodes are available: 3 Insufficient cpu.');
});

test('the last decision for each of the last 500 pods is kept, without the objects of nodes', () => {
  const clock = new ManualClock();
  const log = new DecisionLog(clock);
  const nodes = Array.from({ length: 300 }, (_, i) => exampleNode(`n-${i}`, { cpu: '1' }));
  const snapshot = exampleSnapshot(nodes);
  const decide = (name: string, cpu: string) =>
    log.add(planAssignments(snapshot, [createPodInfo(examplePod(name, { cpu }))], 1));
  for (let i = 0; i < 510; i++) decide(`p-${i}`, '500m');
  decide('p-509', '2');
  const list = log.list();
  expect([list.length, list[0]?.pod.name, list.at(-1)?.pod.name]).toEqual([500, 'p-509', 'p-10']);
  expect(list[0]).toMatchObject({ outcome: 'refused', refusedCount: 300 });
  expect(list[0]?.nodes).toHaveLength(100);
  expect(list[1]?.nodes).toHaveLength(20);
  expect(JSON.stringify(log)).not.toContain('allocatable');
});
