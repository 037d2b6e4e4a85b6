import { readFileSync } from 'node:fs';
import { type Node, NODE_TTL_ANNOTATION } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planTtl, stepOf } from './plan.ts';

interface Case {
  readonly name: string;
  /** The number of nodes in the cluster. `step` is the step before the change. */
  readonly nodes: number;
  readonly step: number;
  /** The annotation that the node has. */
  readonly annotation?: string;
  readonly gone?: boolean;
  /** The times to live that are written, in seconds. */
  readonly want: readonly number[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];

function node(ttl?: string): Node {
  const annotations: Record<string, string> = ttl === undefined ? {} : { [NODE_TTL_ANNOTATION]: ttl };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node', annotations } };
}

describe('how long agents may keep what they have read', () => {
  it.each(CASES)('$name', ({ nodes, step, annotation, gone = false, want }) => {
    const now = stepOf(nodes, step);
    const { actions } = planTtl(gone ? undefined : node(annotation), now);
    expect(actions).toEqual(want.map((ttlSeconds) => ({ kind: 'annotate', ttlSeconds })));
    // Once the actions are carried out, no more are planned.
    for (const { ttlSeconds } of actions) {
      expect(planTtl(node(String(ttlSeconds)), stepOf(nodes, now)).actions).toEqual([]);
    }
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

  it('is written for a node without annotations', () => {
    expect(planTtl({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node' } }, 0).actions).toEqual([
      { kind: 'annotate', ttlSeconds: 0 },
    ]);
  });
});
