import { formatTime } from '@gantry/base';
import { hasEnded, type Pod } from '@gantry/objects';
import { describe, expect, it, test } from 'vitest';
import { availableAt, isActive, isAvailable, isReady, isTerminating, nextAvailability } from './pod-state.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');

function pod(phase: string | undefined, deleting = false): Pod {
  const metadata = { name: 'p', ...(deleting ? { deletionTimestamp: formatTime(NOW) } : {}) };
  return { apiVersion: 'v1', kind: 'Pod', metadata, ...(phase === undefined ? {} : { status: { phase } }) };
}

function readyPod(since: number | undefined, status = 'True'): Pod {
  const lastTransitionTime = since === undefined ? {} : { lastTransitionTime: formatTime(since) };
  return { ...pod('Running'), status: { conditions: [{ type: 'Ready', status, ...lastTransitionTime }] } };
}

describe('the state of a pod', () => {
  test.each([
    [undefined, false, ['active']],
    ['Pending', false, ['active']],
    ['Running', false, ['active']],
    ['Unknown', false, ['active']],
    ['Succeeded', false, ['finished']],
    ['Failed', false, ['finished']],
    ['Pending', true, ['terminating']],
    ['Running', true, ['terminating']],
    ['Succeeded', true, ['finished']],
    ['Failed', true, ['finished']],
  ])('of phase %s and being deleted: %s is %j', (phase, deleting, expected) => {
    const one = pod(phase, deleting);
    const states = { active: isActive(one), finished: hasEnded(one), terminating: isTerminating(one) };
    expect(Object.entries(states).flatMap(([name, holds]) => (holds ? [name] : []))).toEqual(expected);
  });
});

describe('readiness', () => {
  it('is the Ready condition', () => {
    expect([pod('Running'), readyPod(NOW, 'False'), readyPod(NOW, 'Unknown'), readyPod(NOW)].map(isReady)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it('makes a pod available after minReadySeconds, to the millisecond', () => {
    const since = NOW - 10_000;
    expect(availableAt(readyPod(since), 10)).toBe(NOW);
    expect(isAvailable(readyPod(since), 10, NOW)).toBe(true);
    expect(isAvailable(readyPod(since), 10, NOW - 1)).toBe(false);
    expect(isAvailable(readyPod(since, 'False'), 10, NOW)).toBe(false);
  });

  it('makes a pod available at once without minReadySeconds, even where its clock is ahead or its time is missing', () => {
    expect(isAvailable(readyPod(NOW + 5000), 0, NOW)).toBe(true);
    expect(isAvailable(readyPod(undefined), 0, NOW)).toBe(true);
    expect(isAvailable(readyPod(undefined), 1, NOW)).toBe(false);
  });

  it('gives the next moment at which a pod becomes available', () => {
    const pods = [readyPod(NOW - 20_000), readyPod(NOW - 5000), readyPod(NOW - 1000), readyPod(NOW - 8000, 'False')];
    expect(nextAvailability(pods, 10, NOW)).toBe(NOW + 5000);
    expect(nextAvailability(pods, 0, NOW)).toBeUndefined();
    expect(nextAvailability(pods, 20, NOW + 60_000)).toBeUndefined();
  });
});
