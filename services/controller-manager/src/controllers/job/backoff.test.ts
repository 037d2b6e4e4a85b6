import { formatTime } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { exampleJob, sketchedPod } from '../../testing/job-objects.ts';
import { backoffLeft, finishedAt, nextBackoff, NO_FAILURES } from './backoff.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const job = exampleJob({});
const failed = (end: number) => sketchedPod({ is: 'failed', end }, `f${end}`, job, NOW);
const succeeded = (end: number) => sketchedPod({ is: 'succeeded', end }, `s${end}`, job, NOW);

describe('the back-off', () => {
  it.each([
    ['no pods', [], [], 2, 2],
    ['failures', [], [failed(-5), failed(-3)], 2, 4],
    ['a success', [succeeded(-1)], [], 2, 0],
    ['failures before a success', [succeeded(-1)], [failed(-5), failed(-3)], 2, 0],
    ['failures around a success', [succeeded(-4)], [failed(-5), failed(-3), failed(-2)], 2, 2],
    ['a failure with a success', [succeeded(-4)], [failed(-4)], 2, 0],
  ])('counts %s', (_name, good, bad, before, after) => {
    const next = nextBackoff({ failures: before, lastFailure: NOW - 60_000 }, good, bad);
    expect(next.failures).toBe(after);
    if (bad.length > 0 && after > 0) expect(next.lastFailure).toBe(Math.max(...bad.map(finishedAt)));
  });

  it.each([
    [0, 0, 0],
    [1, 0, 10_000],
    [1, 4, 6000],
    [2, 0, 20_000],
    [5, 0, 160_000],
    [7, 0, 600_000],
    [1000, 0, 600_000],
    [1, 11, 0],
  ])('after %i failures, the last %i s ago, is %i ms', (failures, ago, left) => {
    expect(backoffLeft({ failures, lastFailure: NOW - ago * 1000 }, NOW)).toBe(left);
  });

  it('is none without failures', () => {
    expect(backoffLeft(NO_FAILURES, NOW)).toBe(0);
  });
});

describe('the end of a pod', () => {
  const created = formatTime(NOW - 100_000);
  const base: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { creationTimestamp: created },
    spec: { containers: [] },
  };
  const container = (name: string, end: number | undefined) => ({
    name,
    image: 'i',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: end === undefined ? { running: {} } : { terminated: { exitCode: 0, finishedAt: formatTime(NOW + end) } },
  });
  const sidecar = { containers: [], initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }] };
  const notReady = { type: 'Ready', status: 'False', lastTransitionTime: formatTime(NOW - 7000) };
  const deleted = { creationTimestamp: created, deletionTimestamp: formatTime(NOW), deletionGracePeriodSeconds: 30 };

  it.each([
    [
      'is that of its last container',
      { status: { containerStatuses: [container('a', -9000), container('b', -3000)] } },
      -3000,
    ],
    [
      'may be that of a sidecar, not of another init container',
      {
        spec: sidecar,
        status: {
          containerStatuses: [container('a', -9000)],
          initContainerStatuses: [container('s', -2000), container('i', -1000)],
        },
      },
      -2000,
    ],
    [
      'is when it stopped being ready',
      { status: { containerStatuses: [container('a', undefined)], conditions: [notReady] } },
      -7000,
    ],
    ['is when it was to be deleted', { metadata: deleted }, -30_000],
    ['is its creation when nothing is known', {}, -100_000],
  ])('%s', (_name, change, end) => {
    expect(finishedAt({ ...base, ...change }) - NOW).toBe(end);
  });
});
