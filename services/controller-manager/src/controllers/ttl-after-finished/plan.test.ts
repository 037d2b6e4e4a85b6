import { formatTime } from '@gantry/base';
import type { Job } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { exampleJob } from '../../testing/job-objects.ts';
import { planCleanup } from './plan.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');

function job(ttlSecondsAfterFinished: number | undefined, end: string | undefined, status = 'True', ago = 60): Job {
  const lastTransitionTime = formatTime(NOW - ago * 1000);
  const one = exampleJob(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished });
  return end === undefined ? one : { ...one, status: { conditions: [{ type: end, status, lastTransitionTime }] } };
}

describe('planCleanup', () => {
  it.each([
    ['whose time is over', job(60, 'Complete'), 1, undefined],
    ['that failed and whose time is over', job(59, 'Failed'), 1, undefined],
    ['that is to go at once', job(0, 'Complete', 'True', 0), 1, undefined],
    ['whose time is not over', job(61, 'Complete'), 0, 1000],
    ['that ended in the future of this clock', job(5, 'Complete', 'True', -10), 0, 15_000],
    ['that keeps its place', job(undefined, 'Complete'), 0, undefined],
    ['that goes on', job(0, undefined), 0, undefined],
    ['that is about to fail', job(0, 'FailureTarget'), 0, undefined],
    ['whose condition is false', job(0, 'Failed', 'False'), 0, undefined],
  ])('a Job %s', (_name, observed, deletions, waitMs) => {
    const { actions, requeueAt } = planCleanup(observed, NOW);
    expect(actions).toHaveLength(deletions);
    expect(requeueAt).toBe(waitMs === undefined ? undefined : NOW + waitMs);
  });

  it('leaves a Job that is being deleted, and one whose end has no time', () => {
    const ended = job(0, 'Complete');
    const deleted = { ...ended, metadata: { ...ended.metadata, deletionTimestamp: formatTime(NOW) } };
    const timeless = { ...ended, status: { conditions: [{ type: 'Complete', status: 'True' }] } };
    expect([deleted, timeless].map((one) => planCleanup(one, NOW))).toEqual([{ actions: [] }, { actions: [] }]);
  });
});
