import type { Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { changesCollection, failedStatus, planPodCollection, QUARANTINE_MS } from './plan.ts';

const NOW = 1_000_000;
const pod = (nodeName: string | undefined, deletionTimestamp?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
});

describe('planning the collection of pods', () => {
  it('leaves pods of nodes that exist, and pods that wait for one', () => {
    expect(planPodCollection({ pod: pod('n'), missingSince: undefined }, NOW)).toEqual({ actions: [] });
    expect(planPodCollection({ pod: pod(undefined), missingSince: undefined }, NOW)).toEqual({ actions: [] });
  });

  it('removes pods of a node that has been gone for a while', () => {
    expect(planPodCollection({ pod: pod('n'), missingSince: NOW }, NOW)).toEqual({
      actions: [],
      requeueAt: NOW + QUARANTINE_MS,
    });
    expect(planPodCollection({ pod: pod('n'), missingSince: NOW }, NOW + QUARANTINE_MS).actions).toMatchObject([
      { kind: 'markFailed' },
      { kind: 'delete', why: 'node-gone' },
    ]);
  });

  it('removes pods that were deleted before they got a node', () => {
    const deleted = pod(undefined, '2026-01-01T00:00:00Z');
    expect(planPodCollection({ pod: deleted, missingSince: undefined }, NOW)).toEqual({
      actions: [{ kind: 'delete', why: 'never-started' }],
    });
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

  it('says no more than what changes', () => {
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'R' },
      { type: 'example.org/gate', status: 'True' },
    ];
    expect(failedStatus({ ...pod('n'), status: { phase: 'Running', conditions } }, NOW)).toEqual({
      phase: 'Failed',
      conditions: [target, { type: 'Ready', status: 'False', lastTransitionTime: '1970-01-01T00:16:40Z' }],
    });
    expect(failedStatus(pod('n'), NOW)).toEqual({ phase: 'Failed', conditions: [target] });
  });

  it('is not set on a finished pod', () => {
    expect(failedStatus({ ...pod('n'), status: { phase: 'Succeeded' } }, NOW)).toBeUndefined();
  });
});

it('is decided anew when the node or the deletion of a pod changes, not its status', () => {
  expect(changesCollection(pod('n'), pod(undefined))).toBe(true);
  expect(changesCollection(pod('n', '2026-01-01T00:00:00Z'), pod('n'))).toBe(true);
  expect(changesCollection({ ...pod('n'), status: { phase: 'Running' } }, pod('n'))).toBe(false);
});
