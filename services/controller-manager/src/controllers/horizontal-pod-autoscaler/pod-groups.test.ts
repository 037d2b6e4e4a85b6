import { formatTime } from '@gantry/base';
import type { Container, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { PodMetrics } from './metric-answers.ts';
import { groupPods, requestsOf } from './pod-groups.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;
const ago = (ms: number) => formatTime(NOW - ms);

interface Times {
  readonly startedAgo?: number;
  readonly changedAgo?: number;
  readonly ready?: string;
  /** How long ago it was measured, over one minute. When absent, it was not measured. */
  readonly measuredAgo?: number;
}

function podOf({ startedAgo, changedAgo, ready }: Times, status: Pod['status'] = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    status: {
      phase: 'Running',
      ...(startedAgo === undefined ? {} : { startTime: ago(startedAgo) }),
      ...(ready === undefined
        ? {}
        : { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: ago(changedAgo ?? 0) }] }),
      ...status,
    },
  };
}

const metricsOf = ({ measuredAgo }: Times): PodMetrics =>
  measuredAgo === undefined ? new Map() : new Map([['p', { value: 1, at: NOW - measuredAgo, windowMs: MINUTE_MS }]]);

function groupOf(pod: Pod, metrics: PodMetrics, resource: string): string {
  const { readyCount, unready, missing, ignored } = groupPods([pod], metrics, resource, NOW);
  const groups = Object.entries({ unready, missing, ignored }).filter(([, names]) => names.has('p'));
  return readyCount === 1 ? 'ready' : (groups[0]?.[0] ?? 'none');
}

/** The cases of Kubernetes' TestGroupPods, with its default periods. */
describe('a pod', () => {
  const old = { startedAgo: 60 * MINUTE_MS, changedAgo: 50 * MINUTE_MS, measuredAgo: 0 };
  it.each<[string, string, Times]>([
    ['that is ready counts', 'ready', { ...old, ready: 'True' }],
    ['without a Ready condition has just started', 'unready', { startedAgo: MINUTE_MS, measuredAgo: 0 }],
    ['without a start time has not started', 'unready', { changedAgo: 0, ready: 'True', measuredAgo: 0 }],
    ['without metrics is missing', 'missing', { startedAgo: MINUTE_MS, ready: 'True' }],
    [
      'that is young and ready counts once a whole window has been measured since',
      'ready',
      { startedAgo: 3 * MINUTE_MS, changedAgo: 2 * MINUTE_MS, ready: 'True', measuredAgo: 30_000 },
    ],
    [
      'that is young and ready does not count before that',
      'unready',
      { startedAgo: 3 * MINUTE_MS, changedAgo: MINUTE_MS, ready: 'True', measuredAgo: 30_000 },
    ],
    [
      'that is young and not ready does not count',
      'unready',
      { startedAgo: 4 * MINUTE_MS, changedAgo: 3 * MINUTE_MS, ready: 'False', measuredAgo: 0 },
    ],
    [
      'that has never been ready does not count',
      'unready',
      { startedAgo: 20 * MINUTE_MS, changedAgo: 20 * MINUTE_MS - 10_000, ready: 'False', measuredAgo: 0 },
    ],
    [
      'that was ready once counts, though it is not now',
      'ready',
      { startedAgo: 20 * MINUTE_MS, changedAgo: 5 * MINUTE_MS, ready: 'False', measuredAgo: 0 },
    ],
  ])('%s: %s', (_name, expected, times) => {
    expect(groupOf(podOf(times), metricsOf(times), 'cpu')).toBe(expected);
  });

  it('counts by memory from the start', () => {
    const times = { startedAgo: 1000, ready: 'False', measuredAgo: 0 };
    expect(groupOf(podOf(times), metricsOf(times), 'memory')).toBe('ready');
  });

  it('that is pending is unready; one that failed or is being deleted is ignored', () => {
    const measured = metricsOf({ measuredAgo: 0 });
    expect(groupOf(podOf(old, { phase: 'Pending' }), measured, 'cpu')).toBe('unready');
    expect(groupOf(podOf(old, { phase: 'Failed' }), measured, 'cpu')).toBe('ignored');
    const deleted = podOf({ ...old, ready: 'True' });
    deleted.metadata.deletionTimestamp = ago(0);
    expect(groupOf(deleted, measured, 'cpu')).toBe('ignored');
  });
});

describe('requests', () => {
  const container = (name: string, cpu?: string): Container => ({
    name,
    image: 'i',
    ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }),
  });
  const pod = (spec: Partial<NonNullable<Pod['spec']>>): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [container('a', '100m'), container('b', '50m')], ...spec },
  });
  const of = (spec: Partial<NonNullable<Pod['spec']>>, name = '') => requestsOf([pod(spec)], 'cpu', name).get('p');

  it('are those of containers and sidecars', () => {
    const sidecar = { ...container('s', '20m'), restartPolicy: 'Always' };
    expect(of({})).toBe(150);
    expect(of({ initContainers: [container('init', '9'), sidecar] })).toBe(170);
  });

  it('are those of the pod as a whole, unless one container is meant', () => {
    const whole = { resources: { requests: { cpu: '800m' } } };
    expect(of(whole)).toBe(800);
    expect(of({ ...whole, containers: [container('a')] })).toBe(800);
    expect(of(whole, 'b')).toBe(50);
  });

  it('that are missing are an error that names the container', () => {
    const spec = { containers: [container('a', '1'), container('b')] };
    expect(() => of(spec)).toThrow('missing request for cpu in container b of Pod p');
    expect(of(spec, 'a')).toBe(1000);
    expect(() => of(spec, 'c')).toThrow('container c not found in Pod p');
    const memory = { resources: { requests: { memory: '1Gi' } }, containers: [container('a')] };
    expect(() => of(memory)).toThrow('missing pod-level request for cpu in Pod p');
  });
});
