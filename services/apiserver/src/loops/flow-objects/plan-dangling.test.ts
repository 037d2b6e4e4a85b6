import type { FlowSchema } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { withDangling } from './plan-dangling.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const BEFORE = '2026-01-01T11:00:00Z';
const NAMED = 'This FlowSchema references the PriorityLevelConfiguration object named "a"';
const FOUND = { type: 'Dangling', status: 'False', reason: 'Found', message: `${NAMED} and it exists` };
const MISSING = {
  type: 'Dangling',
  status: 'True',
  reason: 'NotFound',
  message: `${NAMED} but there is no such object`,
};

const schema = (...conditions: readonly object[]): FlowSchema => ({
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  kind: 'FlowSchema',
  metadata: { name: 's' },
  spec: { priorityLevelConfiguration: { name: 'a' } },
  status: { conditions: [...conditions] },
});

describe('a flow schema says whether its priority level exists', () => {
  it.each([
    ['there from the beginning', [], ['a'], FOUND],
    ['missing from the beginning', [], ['b'], MISSING],
    ['gone', [{ ...FOUND, lastTransitionTime: BEFORE }], [], MISSING],
    ['there again', [{ ...MISSING, lastTransitionTime: BEFORE }], ['a'], FOUND],
  ])('%s', (_, conditions, levels, finding) => {
    const status = withDangling(schema(...conditions), new Set(levels), NOW);
    expect(status?.conditions).toEqual([{ ...finding, lastTransitionTime: '2026-01-01T12:00:00Z' }]);
    expect(withDangling({ ...schema(), status }, new Set(levels), NOW + 1000)).toBeUndefined();
  });

  it('keeps the conditions of others', () => {
    const other = { type: 'example.org/seen', status: 'True' };
    const status = withDangling(schema(other), new Set(['a']), NOW);
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['example.org/seen', 'Dangling']);
  });
});
