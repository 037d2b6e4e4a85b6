import { expect, it } from 'vitest';
import { type Decision, renderDecision } from './render-decision.ts';

const DECISION: Decision = {
  at: '2026-01-01T00:00:00.000000Z',
  pod: { namespace: 'shop', name: 'web-1' },
  outcome: 'assigned',
  node: 'host-1',
  message: '',
  victims: [],
  nodeCount: 3,
  feasibleCount: 2,
  refusedCount: 1,
  nodes: [
    {
      node: 'host-1',
      score: 291,
      scores: [
        { plugin: 'NodeResourcesFit', weight: 1, points: 91 },
        { plugin: 'PodTopologySpread', weight: 2, points: 100 },
      ],
    },
    { node: 'host-2', score: 80, scores: [{ plugin: 'NodeResourcesFit', weight: 1, points: 80 }] },
    { node: 'host-3', refusedBy: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient memory'] },
  ],
};

it('shows each node with its filters, its score, and the points of each plugin', () => {
  expect(renderDecision(DECISION).split('\n')).toEqual([
    'shop/web-1 at 2026-01-01T00:00:00.000000Z: assigned to host-1',
    'of 3 nodes 2 fit and 1 do not',
    '',
    'NODE     FILTERS                                                   SCORE   NodeResourcesFit   PodTopologySpread',
    'host-1   fits                                                      291     91                 100 x 2',
    'host-2   fits                                                      80      80',
    'host-3   NodeResourcesFit: Insufficient cpu, Insufficient memory',
  ]);
});

it('says why a pod is not assigned, whom it waits for, and what is not shown', () => {
  const message = '0/900 nodes are available: 900 Insufficient cpu.';
  const counts = { nodeCount: 900, feasibleCount: 0, refusedCount: 900 };
  const refused: Decision = { ...DECISION, ...counts, outcome: 'refused', node: '', message, nodes: [] };
  expect(renderDecision(refused).split('\n')).toEqual([
    `shop/web-1 at 2026-01-01T00:00:00.000000Z: not assigned. ${message}`,
    'of 900 nodes 0 fit and 900 do not; 900 of them are not shown',
  ]);
  const victims = [{ namespace: 'low', name: 'batch-7' }];
  const nominated: Decision = { ...refused, outcome: 'nominated', node: 'host-2', victims };
  expect(renderDecision(nominated).split('\n').slice(0, 2)).toEqual([
    `shop/web-1 at 2026-01-01T00:00:00.000000Z: waits for room on host-2. ${message}`,
    'evicted for it: low/batch-7',
  ]);
});
