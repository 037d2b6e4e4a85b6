import type { Affinity, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { planAssignments } from '../../plan.ts';
import { apart, exampleTerm, near, preferApart, preferNear } from '../../testing/affinity-examples.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { preferNeighbours } from './prefer-neighbours.ts';

function pod(name: string, app: string, node?: string, affinity?: Affinity): Pod {
  return examplePod(name, {
    labels: { app },
    ...(node === undefined ? {} : { node }),
    ...(affinity === undefined ? {} : { spec: { affinity } }),
  });
}

const NODES = [
  ...['a1', 'a2', 'b1', 'c1'].map((name) => exampleNode(name, { labels: { host: name, zone: name[0] ?? '' } })),
  exampleNode('none'),
];

function scores(waiting: Pod, placed: readonly Pod[]): readonly number[] {
  const snapshot = exampleSnapshot(NODES, placed);
  const known = snapshot.affinity.withNeighbours(createPodInfo(waiting), snapshot.nodes);
  return pointsOf(preferNeighbours.score(known, snapshot.nodes), NODES.length);
}

/** The scores of a1, a2, b1, c1 and the node without labels. */
describe('scores by neighbours', () => {
  it.each<readonly [string, Pod, readonly Pod[], readonly number[]]>([
    ['are 0 where no term concerns the pod', pod('p', 'p'), [pod('x', 'x', 'a1')], [0, 0, 0, 0, 0]],
    ['are 0 where all are equal', pod('p', 'p', undefined, preferNear(10, exampleTerm('y'))), [], [0, 0, 0, 0, 0]],
    [
      'are best in the domain of a pod that it prefers',
      pod('p', 'p', undefined, preferNear(10, exampleTerm('x'))),
      [pod('x', 'x', 'a1')],
      [100, 100, 0, 0, 0],
    ],
    [
      'count each such pod',
      pod('p', 'p', undefined, preferNear(10, exampleTerm('x'))),
      [pod('x', 'x', 'a1'), pod('x2', 'x', 'a2'), pod('x3', 'x', 'a2'), pod('x4', 'x', 'b1')],
      [100, 100, 33, 0, 0],
    ],
    [
      'are worst in the domain of a pod that it prefers to avoid',
      pod('p', 'p', undefined, preferApart(10, exampleTerm('x'))),
      [pod('x', 'x', 'a1')],
      [0, 0, 100, 100, 100],
    ],
    [
      'weigh terms',
      pod('p', 'p', undefined, {
        ...preferNear(30, exampleTerm('x', 'host')),
        ...preferApart(10, exampleTerm('y')),
      }),
      [pod('x', 'x', 'b1'), pod('y', 'y', 'a1')],
      [0, 0, 100, 25, 25],
    ],
    [
      'are best near a pod that prefers it',
      pod('p', 'p'),
      [pod('x', 'x', 'b1', preferNear(5, exampleTerm('p')))],
      [0, 0, 100, 0, 0],
    ],
    [
      'are worst near a pod that prefers to avoid it',
      pod('p', 'p'),
      [pod('x', 'x', 'b1', preferApart(5, exampleTerm('p')))],
      [100, 100, 0, 100, 100],
    ],
    [
      'count required affinity of others with the weight 1',
      pod('p', 'p'),
      [pod('x', 'x', 'a1', near(exampleTerm('p'))), pod('y', 'y', 'b1', preferNear(4, exampleTerm('p')))],
      [25, 25, 100, 0, 0],
    ],
    [
      'do not count required terms of its own, and not the anti-affinity that others require',
      pod('p', 'p', undefined, near(exampleTerm('x'))),
      [pod('x', 'x', 'a1'), pod('y', 'y', 'b1', apart(exampleTerm('q')))],
      [0, 0, 0, 0, 0],
    ],
    [
      'do not count terms that do not select it',
      pod('p', 'p'),
      [pod('x', 'x', 'b1', preferNear(5, exampleTerm('q')))],
      [0, 0, 0, 0, 0],
    ],
  ])('%s', (_, waiting, placed, expected) => {
    expect(scores(waiting, placed)).toEqual(expected);
  });

  it('decide between nodes, also by pods of the same plan', () => {
    const nodes = ['a', 'b', 'c'].map((name) => exampleNode(name, { labels: { host: name } }));
    const together = ['p', 'q', 'r'].map((name) => pod(name, 'g', undefined, preferNear(1, exampleTerm('g', 'host'))));
    const alone = ['p', 'q', 'r'].map((name) => pod(name, 'g', undefined, preferApart(1, exampleTerm('g', 'host'))));
    const nodesOf = (waiting: readonly Pod[], seed: number) =>
      new Set(
        planAssignments(exampleSnapshot(nodes), waiting.map(createPodInfo), seed).map(
          (decision) => decision.kind === 'assign' && decision.nodeName,
        ),
      );
    for (let seed = 0; seed < 10; seed++) {
      expect(nodesOf(together, seed).size).toBe(1);
      expect(nodesOf(alone, seed).size).toBe(3);
    }
  });
});
