import { type Node, NODE_TTL_ANNOTATION } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planTtl, stepOf } from './plan.ts';

function node(ttl?: string): Node {
  const annotations: Record<string, string> = ttl === undefined ? {} : { [NODE_TTL_ANNOTATION]: ttl };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node', annotations } };
}

const secondsAt = (step: number) => planTtl(node(), step).actions[0]?.ttlSeconds;

describe('how long agents may keep what they have read', () => {
  it.each([
    [0, 0, 0],
    [100, 0, 0],
    [101, 0, 15],
    [501, 0, 30],
    [5000, 0, 300],
    [95, 1, 15],
    [89, 1, 0],
    [89, 4, 0],
    [1850, 4, 300],
    [1799, 4, 60],
  ])('with %i nodes after step %i: %i s', (nodes, before, seconds) => {
    expect(secondsAt(stepOf(nodes, before))).toBe(seconds);
  });

  it('does not depend on the order in which nodes come', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.nat(4), (nodes, before) => {
        const step = stepOf(nodes, before);
        expect(stepOf(nodes, step)).toBe(step);
      }),
      { seed: 11 },
    );
  });

  it.each([
    [node('0'), 0, 'right'],
    [node(), 0, 'wrong'],
    [node('15'), 0, 'wrong'],
    [node('x'), 0, 'wrong'],
    [undefined, 0, 'right'],
  ])('is written where it is not so', (of, step, is) => {
    expect(planTtl(of, step).actions).toEqual(is === 'right' ? [] : [{ kind: 'annotate', ttlSeconds: 0 }]);
  });
});
