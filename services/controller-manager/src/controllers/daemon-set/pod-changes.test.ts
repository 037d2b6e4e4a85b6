import type { DaemonSet, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { collectingMs, concernsSet } from './pod-changes.ts';
import { daemonPodMaker } from './placement.ts';
import { exampleSet } from './testing/world.ts';

const make = daemonPodMaker(exampleSet(), 'h');
const pod = (ready: boolean, change: Partial<Pod> = {}): Pod => ({
  ...make('a'),
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  ...change,
});
const bound = (nodeName: string) => ({ spec: { containers: [], ...make('a').spec, nodeName } });
const set = (desired: number): DaemonSet => ({
  ...exampleSet(),
  status: { desiredNumberScheduled: desired, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
});

describe('a change of a pod', () => {
  it('concerns its set when it is counted otherwise or belongs to another node', () => {
    expect(concernsSet(pod(true), pod(false))).toBe(true);
    expect(concernsSet(pod(true, { status: { phase: 'Failed' } }), pod(false))).toBe(true);
    expect(concernsSet(pod(true, bound('b')), pod(true))).toBe(true);
    expect(concernsSet(pod(true, bound('a')), pod(true))).toBe(false);
    expect(concernsSet(pod(true), pod(true))).toBe(false);
  });

  it('waits for more in a large set, unless a node needs a pod', () => {
    expect(collectingMs(pod(true), pod(false), set(1000))).toBe(500);
    expect(collectingMs(pod(true), undefined, set(1000))).toBe(500);
    expect(collectingMs(pod(true), pod(false), set(99))).toBe(0);
    expect(collectingMs(pod(true), pod(false), undefined)).toBe(0);
    expect(collectingMs(undefined, pod(true), set(1000))).toBe(0);
    expect(collectingMs(pod(true, { status: { phase: 'Failed' } }), pod(true), set(1000))).toBe(0);
  });
});
