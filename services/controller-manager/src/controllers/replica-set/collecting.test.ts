import type { Pod, ReplicaSet } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { collectingMs } from './collecting.ts';

const set = (replicas: number, status: Partial<ReplicaSet['status']> = {}): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set' },
  spec: { replicas, selector: {} },
  status: { replicas: 0, ...status },
});
const pod = (change: { phase?: string; ready?: boolean; deleting?: boolean; app?: string } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    labels: { app: change.app ?? 'a' },
    ...(change.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  status: {
    phase: change.phase ?? 'Running',
    conditions: [{ type: 'Ready', status: change.ready === true ? 'True' : 'False' }],
  },
});

describe('a change of a pod', () => {
  it('does not wait in a small set', () => {
    expect(collectingMs(pod({ ready: true }), pod(), set(99))).toBe(0);
  });

  it('waits in proportion to a large set, for a second at most', () => {
    const wait = (of: ReplicaSet) => collectingMs(pod({ ready: true }), pod(), of);
    expect([100, 1000, 10_000, 100_000].map((replicas) => wait(set(replicas)))).toEqual([50, 500, 1000, 1000]);
    expect(wait(set(0, { replicas: 500 }))).toBe(250);
    expect(wait(set(0, { terminatingReplicas: 300 }))).toBe(150);
  });

  it.each([
    ['a new pod waits', pod(), undefined, 500],
    ['the end of a terminating pod waits', undefined, pod({ deleting: true }), 500],
    ['a pod that is gone does not', undefined, pod(), 0],
    ['one that is being deleted does not', pod({ deleting: true }), pod(), 0],
    ['one that failed does not', pod({ phase: 'Failed' }), pod(), 0],
    ['one with other labels does not', pod({ app: 'b' }), pod(), 0],
  ])('%s', (_, now, old, expected) => {
    expect(collectingMs(now, old, set(1000))).toBe(expected);
  });

  it('does not wait where the set is not known', () => {
    expect(collectingMs(pod(), undefined, undefined)).toBe(0);
  });
});
