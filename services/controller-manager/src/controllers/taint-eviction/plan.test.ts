import type { Node, Pod, Taint, Toleration } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planEviction } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const EVICTED = { actions: [{ kind: 'evict', condition: { reason: 'DeletionByTaintManager' } }] };
const UNREACHABLE: Taint = {
  key: 'node.kubernetes.io/unreachable',
  effect: 'NoExecute',
  timeAdded: '2026-01-01T11:59:58Z',
};

function node(...taints: Taint[]): Node {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints } };
}

function pod(tolerations: Toleration[], metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...metadata },
    spec: { containers: [], nodeName: 'n', tolerations },
  };
}

describe('planning evictions', () => {
  it('evicts at once what does not tolerate the taint', () => {
    expect(planEviction(pod([]), node(UNREACHABLE), NOW)).toMatchObject(EVICTED);
    const others = pod([{ key: 'other', operator: 'Exists' }]);
    expect(planEviction(others, node(UNREACHABLE), NOW)).toMatchObject(EVICTED);
  });

  it('evicts after the tolerated seconds, counted from when the taint came', () => {
    const patient = pod([{ key: UNREACHABLE.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }]);
    expect(planEviction(patient, node(UNREACHABLE), NOW)).toEqual({ actions: [], requeueAt: NOW + 3000 });
  });

  it('counts the shortest of several tolerations', () => {
    const tolerations = [5, 60].map((tolerationSeconds) => ({ operator: 'Exists', tolerationSeconds }));
    expect(planEviction(pod(tolerations), node(UNREACHABLE), NOW)).toEqual({ actions: [], requeueAt: NOW + 3000 });
  });

  it('leaves what tolerates for ever, what is going already, and what has no such taint', () => {
    expect(planEviction(pod([{ operator: 'Exists' }]), node(UNREACHABLE), NOW)).toEqual({ actions: [] });
    const going = pod([], { deletionTimestamp: '2026-01-01T12:00:00Z' });
    expect(planEviction(going, node(UNREACHABLE), NOW)).toEqual({ actions: [] });
    const soft = node({ ...UNREACHABLE, effect: 'NoSchedule' });
    expect(planEviction(pod([]), soft, NOW)).toEqual({ actions: [] });
  });
});
