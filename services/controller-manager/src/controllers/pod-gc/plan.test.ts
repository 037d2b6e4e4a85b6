import { readFileSync } from 'node:fs';
import type { Node, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, changesCollection, excessPods, failedStatus, planPodCollection, QUARANTINE_MS } from './plan.ts';

interface Case {
  readonly name: string;
  readonly node?: string;
  readonly deleting?: boolean;
  readonly graceSeconds?: number;
  /** How long ago the grace period has ended; a long time when absent. */
  readonly endedForMs?: number;
  readonly finalizers?: readonly string[];
  readonly phase?: string;
  /** The node, with its condition Ready and the key of its taint. */
  readonly host?: { readonly ready: string; readonly taint: string };
  /** How long ago the node was first seen to be missing. */
  readonly missingForMs?: number;
  readonly want: { readonly actions: readonly string[]; readonly againInMs?: number };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = 1_000_000;
const pod = (nodeName: string | undefined, deletionTimestamp?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
});

function podOf({ node, deleting = false, endedForMs = NOW, graceSeconds, finalizers, phase }: Case): Pod {
  const one = pod(node, deleting ? new Date(NOW - endedForMs).toISOString() : undefined);
  const grace = graceSeconds === undefined ? {} : { deletionGracePeriodSeconds: graceSeconds };
  return {
    ...one,
    metadata: { ...one.metadata, ...grace, ...(finalizers === undefined ? {} : { finalizers: [...finalizers] }) },
    ...(phase === undefined ? {} : { status: { phase } }),
  };
}

function nodeOf({ host }: Case): Node | undefined {
  if (host === undefined) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    spec: { taints: [{ key: host.taint, effect: 'NoExecute' }] },
    status: { conditions: [{ type: 'Ready', status: host.ready }] },
  };
}

function describeAction(action: Action): string {
  if (action.kind === 'delete') return `delete ${action.why}`;
  if (action.kind === 'markWaiting') return `${action.kind} ${action.status.reason}`;
  const conditions = (action.status.conditions ?? []).map(({ type }) => type).join();
  return conditions === '' ? action.kind : `${action.kind} with ${conditions}`;
}

describe('planning the collection of pods', () => {
  it.each(CASES)('$name', (one) => {
    const { missingForMs, want } = one;
    const missingSince = missingForMs === undefined ? undefined : NOW - missingForMs;
    const observed = { pod: podOf(one), node: nodeOf(one), missingSince };
    const { actions, requeueAt } = planPodCollection(observed, NOW);
    expect(actions.map(describeAction)).toEqual(want.actions);
    expect(requeueAt).toBe(want.againInMs === undefined ? undefined : NOW + want.againInMs);
    // A pod that only finalizers still keep is left alone after that.
    if (actions.length === 0) return;
    const gone = podOf({ ...one, deleting: true, graceSeconds: 0, finalizers: ['example.org/hold'], phase: 'Failed' });
    expect(planPodCollection({ ...observed, pod: gone }, NOW).actions).toEqual([]);
  });
});

describe('the end of a pod whose node is gone', () => {
  const target = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
    lastTransitionTime: '1970-01-01T00:16:40Z',
  };

  it('keeps the time since which the pod was to be deleted', () => {
    const lastTransitionTime = '1970-01-01T00:01:00Z';
    const marked = (status: string): Pod => {
      const condition = { ...target, status, reason: 'DeletionByTaintManager', lastTransitionTime };
      return { ...pod('n'), status: { phase: 'Running', conditions: [condition] } };
    };
    const since = (of: Pod) => {
      const { actions } = planPodCollection({ pod: of, node: undefined, missingSince: NOW - QUARANTINE_MS }, NOW);
      return actions[0]?.kind === 'markFailed' ? actions[0].status.conditions?.[0] : undefined;
    };
    expect(since(marked('True'))).toEqual({ ...target, lastTransitionTime });
    expect(since(marked('False'))).toEqual(target);
  });

  it('is of the generation of the pod, as its condition is', () => {
    const lost = pod('n');
    const of = { ...lost, metadata: { ...lost.metadata, generation: 4 } };
    const { actions } = planPodCollection({ pod: of, node: undefined, missingSince: NOW - QUARANTINE_MS }, NOW);
    expect(actions[0]).toMatchObject({
      kind: 'markFailed',
      status: { observedGeneration: 4, conditions: [{ type: 'DisruptionTarget', observedGeneration: 4 }] },
    });
  });

  it('says no more than what changes', () => {
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'R' },
      { type: 'example.org/gate', status: 'True' },
    ];
    expect(failedStatus({ ...pod('n'), status: { phase: 'Running', conditions } }, target, NOW)).toEqual({
      phase: 'Failed',
      conditions: [target, { type: 'Ready', status: 'False', lastTransitionTime: '1970-01-01T00:16:40Z' }],
    });
    expect(failedStatus(pod('n'), target, NOW)).toEqual({ phase: 'Failed', conditions: [target] });
  });

  it('is not set on a finished pod', () => {
    expect(failedStatus({ ...pod('n'), status: { phase: 'Succeeded' } }, target, NOW)).toBeUndefined();
  });
});

describe('finished pods beyond a limit', () => {
  const finished = (name: string, phase: string, createdAt: string, reason?: string): Pod => ({
    ...pod('n'),
    metadata: { name, creationTimestamp: `2026-01-01T00:00:${createdAt}Z` },
    status: { phase, ...(reason === undefined ? {} : { reason }) },
  });
  const pods = [
    finished('young', 'Succeeded', '30'),
    finished('old', 'Failed', '10'),
    finished('evicted', 'Failed', '40', 'Evicted'),
    finished('runs', 'Running', '00'),
    finished('middle', 'Succeeded', '20'),
  ];

  it.each([
    [4, []],
    [3, ['evicted']],
    [2, ['evicted', 'old']],
    [0, ['evicted', 'old', 'middle', 'young']],
  ])('of %i: evicted ones go first, then the oldest', (limit, names) => {
    expect(excessPods(pods, limit).map(({ metadata }) => metadata.name)).toEqual(names);
  });
});

it('is decided anew when the node or the deletion of a pod changes, not its status', () => {
  expect(changesCollection(pod('n'), pod(undefined))).toBe(true);
  expect(changesCollection(pod('n', '2026-01-01T00:00:00Z'), pod('n'))).toBe(true);
  expect(changesCollection({ ...pod('n'), status: { phase: 'Running' } }, pod('n'))).toBe(false);
});
