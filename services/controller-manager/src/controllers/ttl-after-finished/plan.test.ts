import { readFileSync } from 'node:fs';
import { formatTime } from '@gantry/base';
import type { Job } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { exampleJob } from '../../testing/job-objects.ts';
import { planCleanup } from './plan.ts';

interface Case {
  readonly name: string;
  readonly ttl?: number;
  /**
   * The condition with which the Job ended, `ago` seconds ago. When `ago` is absent, it was a minute ago. When it is null, the time is
   * unknown.
   */
  readonly end?: string;
  readonly status?: string;
  readonly ago?: number | null;
  readonly deleting?: boolean;
  readonly want: { readonly deletions: number; readonly waitMs?: number };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T00:10:00Z');

function jobOf({ ttl, end, status = 'True', ago = 60, deleting = false }: Case): Job {
  const one = exampleJob(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl });
  const time = ago === null ? {} : { lastTransitionTime: formatTime(NOW - ago * 1000) };
  return {
    ...one,
    metadata: { ...one.metadata, ...(deleting ? { deletionTimestamp: formatTime(NOW) } : {}) },
    ...(end === undefined ? {} : { status: { conditions: [{ type: end, status, ...time }] } }),
  };
}

describe('planCleanup', () => {
  it.each(CASES)('a Job $name', (one) => {
    const { actions, requeueAt } = planCleanup(jobOf(one), NOW);
    expect(actions).toHaveLength(one.want.deletions);
    expect(requeueAt).toBe(one.want.waitMs === undefined ? undefined : NOW + one.want.waitMs);
    expect(planCleanup(jobOf({ ...one, deleting: true }), NOW)).toEqual({ actions: [] });
  });
});
