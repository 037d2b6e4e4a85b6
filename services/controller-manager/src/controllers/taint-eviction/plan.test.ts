import { readFileSync } from 'node:fs';
import type { Node, Pod, Taint, Toleration } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { changesEviction, hasEvictingTaint, planEviction, type ScheduledEviction } from './plan.ts';

interface Case {
  readonly name: string;
  readonly tolerations: readonly Toleration[];
  readonly taints: readonly Taint[];
  readonly deleting?: boolean;
  readonly createdAt?: string;
  /** When the pod was bound, as its condition says. */
  readonly boundAt?: string;
  /** How long ago the eviction of the pod was scheduled. */
  readonly scheduledForMs?: number;
  readonly want: { readonly actions: readonly string[]; readonly againInMs?: number };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T12:00:00Z');
const DELETING = { deletionTimestamp: '2026-01-01T12:00:00Z' };
const UNREACHABLE: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };

function node(taints: readonly Taint[]): Node {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { taints: [...taints] } };
}

function pod(tolerations: readonly Toleration[], metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...metadata },
    spec: { containers: [], nodeName: 'n', tolerations: [...tolerations] },
  };
}

describe('planning evictions', () => {
  it.each(CASES)('$name', ({ tolerations, taints, deleting = false, createdAt, boundAt, scheduledForMs, want }) => {
    const created = createdAt === undefined ? {} : { creationTimestamp: createdAt };
    const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: boundAt ?? '' }];
    const one = {
      ...pod(tolerations, { ...created, ...(deleting ? DELETING : {}) }),
      ...(boundAt === undefined ? {} : { status: { conditions } }),
    };
    const known = scheduledForMs === undefined ? undefined : { since: NOW - scheduledForMs };
    const { actions, requeueAt } = planEviction(one, node(taints), known, NOW);
    expect(actions.map(({ kind }) => kind)).toEqual(want.actions);
    expect(requeueAt).toBe(want.againInMs === undefined ? undefined : NOW + want.againInMs);
    expect(actions.length === 0 || known !== undefined || hasEvictingTaint(node(taints))).toBe(true);
    // Once the actions are carried out, no more are planned.
    let [after, remembered]: [Pod, ScheduledEviction | undefined] = [one, known];
    for (const action of actions) {
      if (action.kind === 'evict') after = pod(tolerations, DELETING);
      remembered = action.kind === 'schedule' ? { since: action.since } : undefined;
    }
    expect(planEviction(after, node(taints), remembered, NOW).actions).toEqual([]);
  });

  it('says why, and of which generation of the pod it speaks', () => {
    const { actions } = planEviction(pod([], { generation: 3 }), node([UNREACHABLE]), undefined, NOW);
    const condition = { type: 'DisruptionTarget', reason: 'DeletionByTaintManager', observedGeneration: 3 };
    expect(actions).toMatchObject([{ kind: 'evict', condition }]);
  });
});

it('is decided anew when the node, the tolerations or the deletion of a pod change, not its status', () => {
  const old = pod([]);
  const assigned: Pod = { ...old, spec: { containers: [], nodeName: 'other' } };
  expect(changesEviction(assigned, old)).toBe(true);
  expect(changesEviction(pod([{ key: 'k', operator: 'Exists' }]), old)).toBe(true);
  expect(changesEviction(pod([], DELETING), old)).toBe(true);
  expect(changesEviction({ ...old, status: { phase: 'Running' } }, old)).toBe(false);
});
