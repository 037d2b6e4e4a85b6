import { describe, expect, it } from 'vitest';
import { container } from '../testing/pods.ts';
import { countProbe, judgeProbes, NO_COUNT, type ProbeCounts, runsNow } from './probe-counter.ts';

const PROBE = { failureThreshold: 2, successThreshold: 2, periodSeconds: 1 };

describe('the count of a probe', () => {
  it.each([
    ['', 'unknown'],
    ['+', 'unknown'],
    ['++', 'passing'],
    ['++-', 'passing'],
    ['++--', 'failing'],
    ['++-+-', 'passing'],
    ['--+', 'failing'],
    ['--++', 'passing'],
  ])('%s is %s', (outcomes, result) => {
    let count = NO_COUNT;
    for (const outcome of outcomes) count = countProbe(PROBE, count, outcome === '+' ? 'success' : 'failure');
    expect(count.result).toBe(result);
  });
});

describe('the judgement of a container’s probes', () => {
  const all = container('main', { startupProbe: PROBE, readinessProbe: PROBE, livenessProbe: PROBE });
  const counts = (startup: string, readiness: string, liveness: string) =>
    ({
      startup: { ...NO_COUNT, result: startup },
      readiness: { ...NO_COUNT, result: readiness },
      liveness: { ...NO_COUNT, result: liveness },
    }) as ProbeCounts;

  it.each([
    [counts('unknown', 'passing', 'failing'), { started: false, ready: false }],
    [counts('failing', 'unknown', 'unknown'), { started: false, ready: false, failed: 'startup' }],
    [counts('passing', 'unknown', 'unknown'), { started: true, ready: false }],
    [counts('passing', 'passing', 'unknown'), { started: true, ready: true }],
    [counts('passing', 'failing', 'passing'), { started: true, ready: false }],
    [counts('passing', 'passing', 'failing'), { started: true, ready: true, failed: 'liveness' }],
  ])('%j', (given, expected) => {
    expect(judgeProbes(all, given)).toEqual(expected);
  });

  it('runs nothing but the startup probe before it has passed', () => {
    expect(runsNow(all, 'startup', counts('unknown', '', ''))).toBe(true);
    expect(runsNow(all, 'liveness', counts('unknown', '', ''))).toBe(false);
    expect(runsNow(all, 'startup', counts('passing', '', ''))).toBe(false);
    expect(runsNow(all, 'readiness', counts('passing', '', ''))).toBe(true);
  });
});
