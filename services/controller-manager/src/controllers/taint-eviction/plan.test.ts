import type { Node, Pod, Taint, Toleration } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { changesEviction, planEviction as planScheduled } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const EVICTED = { actions: [{ kind: 'evict', condition: { reason: 'DeletionByTaintManager' } }] };
const SCHEDULE = { kind: 'schedule', since: NOW };
const UNREACHABLE: Taint = {
  key: 'node.kubernetes.io/unreachable',
  effect: 'NoExecute',
  timeAdded: '2026-01-01T11:59:58Z',
};

const planEviction = (one: Pod, on: Node, now: number) => planScheduled(one, on, undefined, now);

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
    expect(planEviction(patient, node(UNREACHABLE), NOW)).toEqual({ actions: [SCHEDULE], requeueAt: NOW + 3000 });
  });

  it('counts the first toleration that fits a taint, and the shortest of several taints', () => {
    const tolerations = [60, 5].map((tolerationSeconds) => ({
      key: UNREACHABLE.key,
      operator: 'Exists',
      tolerationSeconds,
    }));
    expect(planEviction(pod(tolerations), node(UNREACHABLE), NOW)).toEqual({
      actions: [SCHEDULE],
      requeueAt: NOW + 58_000,
    });
    const other = { ...UNREACHABLE, key: 'other' };
    const both = pod([...tolerations, { key: 'other', operator: 'Exists', tolerationSeconds: 5 }]);
    expect(planEviction(both, node(UNREACHABLE, other), NOW)).toEqual({ actions: [SCHEDULE], requeueAt: NOW + 3000 });
  });

  it('counts from when it was first seen where the taint has no time', () => {
    const patient = pod([{ operator: 'Exists', tolerationSeconds: 5 }]);
    const { timeAdded: _, ...timeless } = UNREACHABLE;
    expect(planEviction(patient, node(timeless), NOW)).toEqual({ actions: [SCHEDULE], requeueAt: NOW + 5000 });
    const since = { since: NOW };
    expect(planScheduled(patient, node(timeless), since, NOW + 4000)).toEqual({ actions: [], requeueAt: NOW + 5000 });
    expect(planScheduled(patient, node(timeless), since, NOW + 5000)).toMatchObject(EVICTED);
  });

  it('cancels when the taint is gone or tolerated for ever, and before an eviction at once', () => {
    const patient = pod([{ operator: 'Exists', tolerationSeconds: 5 }]);
    const since = { since: NOW };
    expect(planScheduled(patient, node(), since, NOW)).toEqual({ actions: [{ kind: 'cancel' }] });
    expect(planScheduled(pod([{ operator: 'Exists' }]), node(UNREACHABLE), since, NOW)).toEqual({
      actions: [{ kind: 'cancel' }],
    });
    const kinds = planScheduled(pod([]), node(UNREACHABLE), since, NOW).actions.map(({ kind }) => kind);
    expect(kinds).toEqual(['cancel', 'evict']);
  });

  it('says of which generation of the pod it speaks', () => {
    const [action] = planEviction(pod([], { generation: 3 }), node(UNREACHABLE), NOW).actions;
    expect(action?.kind === 'evict' && action.condition.observedGeneration).toBe(3);
  });

  it('leaves what tolerates for ever, what is going already, and what has no such taint', () => {
    expect(planEviction(pod([{ operator: 'Exists' }]), node(UNREACHABLE), NOW)).toEqual({ actions: [] });
    const going = pod([], { deletionTimestamp: '2026-01-01T12:00:00Z' });
    expect(planEviction(going, node(UNREACHABLE), NOW)).toEqual({ actions: [] });
    const soft = node({ ...UNREACHABLE, effect: 'NoSchedule' });
    expect(planEviction(pod([]), soft, NOW)).toEqual({ actions: [] });
  });
});

it('is decided anew when the node, the tolerations or the deletion of a pod change, not its status', () => {
  const old = pod([]);
  const assigned: Pod = { ...old, spec: { containers: [], nodeName: 'other' } };
  expect(changesEviction(assigned, old)).toBe(true);
  expect(changesEviction(pod([{ key: 'k', operator: 'Exists' }]), old)).toBe(true);
  expect(changesEviction(pod([], { deletionTimestamp: '2026-01-01T12:00:00Z' }), old)).toBe(true);
  expect(changesEviction({ ...old, status: { phase: 'Running' } }, old)).toBe(false);
});
