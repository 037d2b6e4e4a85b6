import type { Node, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { changesCollection, failedStatus, planPodCollection, QUARANTINE_MS } from './plan.ts';
import { excessPods } from './terminated.ts';

const NOW = 1_000_000;
const pod = (nodeName: string | undefined, deletionTimestamp?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
});

describe('planning the collection of pods', () => {
  it('leaves pods of nodes that exist, and pods that wait for one', () => {
    expect(planPodCollection({ pod: pod('n'), node: undefined, missingSince: undefined }, NOW)).toEqual({
      actions: [],
    });
    expect(planPodCollection({ pod: pod(undefined), node: undefined, missingSince: undefined }, NOW)).toEqual({
      actions: [],
    });
  });

  it('removes pods of a node that has been gone for a while', () => {
    expect(planPodCollection({ pod: pod('n'), node: undefined, missingSince: NOW }, NOW)).toEqual({
      actions: [],
      requeueAt: NOW + QUARANTINE_MS,
    });
    expect(
      planPodCollection({ pod: pod('n'), node: undefined, missingSince: NOW }, NOW + QUARANTINE_MS).actions,
    ).toMatchObject([{ kind: 'markFailed' }, { kind: 'delete', why: 'node-gone' }]);
  });

  it('removes pods that were deleted before they got a node', () => {
    const deleted = pod(undefined, '2026-01-01T00:00:00Z');
    expect(planPodCollection({ pod: deleted, node: undefined, missingSince: undefined }, NOW)).toEqual({
      actions: [
        { kind: 'markFailed', status: { phase: 'Failed' } },
        { kind: 'delete', why: 'never-started' },
      ],
    });
  });

  it('deletes a pod again that nothing holds: the API server may have ended between the mark and the removal', () => {
    const marked = pod(undefined, '2026-01-01T00:00:00Z');
    const kindsOf = (finalizers: readonly string[]) => {
      const held = { ...marked.metadata, deletionGracePeriodSeconds: 0, finalizers };
      const observed = { pod: { ...marked, metadata: held }, node: undefined, missingSince: undefined };
      return planPodCollection(observed, NOW).actions.map(({ kind }) => kind);
    };
    expect(kindsOf([])).toEqual(['markFailed', 'delete']);
    expect(kindsOf(['example.org/hold'])).toEqual(['markFailed']);
  });

  it.each([
    ['True', 'node.kubernetes.io/out-of-service', '2026-01-01T00:00:00Z', []],
    ['False', 'other', '2026-01-01T00:00:00Z', []],
    ['Unknown', 'node.kubernetes.io/out-of-service', undefined, []],
    ['Unknown', 'node.kubernetes.io/out-of-service', '2026-01-01T00:00:00Z', ['markFailed', 'delete']],
  ])(
    'removes deleted pods of a silent node that is out of service: ready %s, taint %s, deleted at %s',
    (status, key, at, kinds) => {
      const node: Node = {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'n' },
        spec: { taints: [{ key, effect: 'NoExecute' }] },
        status: { conditions: [{ type: 'Ready', status }] },
      };
      const { actions } = planPodCollection({ pod: pod('n', at), node, missingSince: undefined }, NOW);
      expect(actions.map(({ kind }) => kind)).toEqual(kinds);
      expect(JSON.stringify(actions)).not.toContain('DisruptionTarget');
    },
  );
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
