import { formatTime } from '@gantry/base';
import type { Deployment, DeploymentCondition, ReplicaSet, ReplicaSetStatus } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { deadlineOf } from './progress.ts';
import { countedStatus, rolloutStatus } from './status.ts';
import { failedDeployment } from './writes.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const time = (seconds: number) => formatTime(NOW + seconds * 1000);

function deployment(
  change: { replicas?: number; deadline?: number; paused?: boolean; status?: Deployment['status'] } = {},
): Deployment {
  const { replicas = 3, deadline = 60, paused = false, status } = change;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'site', generation: 1 },
    spec: {
      replicas,
      paused,
      progressDeadlineSeconds: deadline,
      selector: {},
      template: {},
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    },
    ...(status === undefined ? {} : { status }),
  };
}

function set(name: string, replicas: number, status: Partial<ReplicaSetStatus> = {}): ReplicaSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name },
    spec: { replicas, selector: {} },
    status: { replicas: 0, ...status },
  };
}

const progressing = (reason: string, since: number, status = 'True'): DeploymentCondition => ({
  type: 'Progressing',
  status,
  reason,
  lastUpdateTime: time(since),
  lastTransitionTime: time(since),
});
const rollout = (
  of: Deployment,
  all: readonly ReplicaSet[],
  newSet?: ReplicaSet,
  conditions: readonly DeploymentCondition[] = [],
) => ({ deployment: of, all, newSet, conditions, now: NOW });
const of = (conditions: readonly DeploymentCondition[] | undefined, type: string) =>
  conditions?.find((condition) => condition.type === type);

describe('the counts of a Deployment', () => {
  it('are unavailable pods of those that its sets shall have, also before any exists', () => {
    const status = countedStatus(rollout(deployment(), [set('a', 3)]));
    expect(status).toMatchObject({ unavailableReplicas: 3 });
    const shrinking = set('a', 1, { replicas: 3, availableReplicas: 3 });
    expect(countedStatus(rollout(deployment(), [shrinking]))).not.toHaveProperty('unavailableReplicas');
  });

  it('are no terminating pods where a set does not report them, unless it has no status yet', () => {
    const counted = set('a', 1, { observedGeneration: 1, terminatingReplicas: 2 });
    const fresh = set('b', 1);
    const silent = set('c', 1, { observedGeneration: 1 });
    expect(countedStatus(rollout(deployment(), [counted, fresh], fresh)).terminatingReplicas).toBe(2);
    expect(countedStatus(rollout(deployment(), [counted, silent], silent))).not.toHaveProperty('terminatingReplicas');
  });

  it('are enough where no pods are wanted', () => {
    const conditions = countedStatus(rollout(deployment({ replicas: 0 }), [])).conditions;
    expect(of(conditions, 'Available')).toMatchObject({ status: 'True', reason: 'MinimumReplicasAvailable' });
  });
});

describe('the progress of a rollout', () => {
  const stuck = set('site-1', 3, { replicas: 3, availableReplicas: 1 });
  const before = { replicas: 3, updatedReplicas: 3, availableReplicas: 1 };
  const progressOf = (since: DeploymentCondition, change: Parameters<typeof deployment>[0] = {}) =>
    of(
      rolloutStatus(rollout(deployment({ status: before, ...change }), [stuck], stuck, [since])).conditions,
      'Progressing',
    );

  it.each([
    ['NewReplicaSetCreated', 'True', -61, 'ProgressDeadlineExceeded'],
    ['ReplicaSetUpdated', 'True', -60, 'ReplicaSetUpdated'],
    ['ReplicaSetCreateError', 'False', -61, 'ProgressDeadlineExceeded'],
    ['DeploymentResumed', 'Unknown', -61, 'ProgressDeadlineExceeded'],
    ['ProgressDeadlineExceeded', 'False', -1, 'ProgressDeadlineExceeded'],
    ['FoundNewReplicaSet', 'True', -1, 'FoundNewReplicaSet'],
  ])('%s (%s) for %i seconds becomes %s', (reason, status, since, expected) => {
    expect(progressOf(progressing(reason, since, status))).toMatchObject({ reason: expected });
  });

  it('restarts the deadline with the same reason, and keeps the time of the transition', () => {
    const found = progressOf(progressing('ReplicaSetUpdated', -50), { status: { ...before, availableReplicas: 0 } });
    expect(found).toMatchObject({ lastUpdateTime: time(0), lastTransitionTime: time(-50) });
  });

  it('is not reported without a deadline', () => {
    expect(progressOf(progressing('ReplicaSetUpdated', -50), { deadline: 2147483647 })).toBeUndefined();
  });

  it('is looked at again when the deadline passes, but not while paused or after the end', () => {
    const at = (reason: string, paused = false) => deadlineOf(deployment({ paused }), [progressing(reason, -10)]);
    expect(at('ReplicaSetUpdated')).toBe(NOW + 50_000);
    expect(at('DeploymentResumed')).toBe(NOW + 50_000);
    expect(at('ReplicaSetUpdated', true)).toBeUndefined();
    expect(at('NewReplicaSetAvailable')).toBeUndefined();
    expect(at('ProgressDeadlineExceeded')).toBeUndefined();
  });
});

describe('a failure of a set', () => {
  const failing = (name: string, reason: string) =>
    set(name, 1, {
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason, message: name, lastTransitionTime: time(-30) }],
    });
  const reported = (all: readonly ReplicaSet[], newSet: ReplicaSet | undefined) =>
    of(rolloutStatus(rollout(deployment(), all, newSet)).conditions, 'ReplicaFailure');

  it('is reported with its own times, that of the new set first', () => {
    const [old, fresh] = [failing('old', 'FailedDelete'), failing('fresh', 'FailedCreate')];
    expect(reported([old, fresh], fresh)).toEqual({
      type: 'ReplicaFailure',
      status: 'True',
      reason: 'FailedCreate',
      message: 'fresh',
      lastUpdateTime: time(-30),
      lastTransitionTime: time(-30),
    });
    expect(reported([old, set('fresh', 1)], set('fresh', 1))).toMatchObject({ message: 'old' });
    expect(reported([set('fresh', 1)], set('fresh', 1))).toBeUndefined();
  });
});

it('reports a set that could not be created once', () => {
  const failed = failedDeployment(deployment(), 'no', NOW);
  expect(failed?.status?.conditions).toMatchObject([
    { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message: 'no' },
  ]);
  expect(failed && failedDeployment(failed, 'no', NOW + 5000)).toBeUndefined();
  expect(failedDeployment(deployment({ deadline: 2147483647 }), 'no', NOW)).toBeUndefined();
});
