import { readFileSync } from 'node:fs';
import { formatTime } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { ageRatios, rankForDeletion } from './rank.ts';

/** A pod of the table. Times are in seconds before now; `readyFor` null is a Ready condition without a time. */
interface PodCase {
  readonly name: string;
  readonly node?: string;
  readonly phase?: string;
  readonly readyFor?: number | null;
  readonly cost?: string;
  readonly restarts?: number;
  readonly sidecarRestarts?: number;
  readonly initRestarts?: number;
  readonly age?: number;
}

interface OrderCase {
  readonly name: string;
  readonly pods: readonly PodCase[];
  readonly related?: readonly PodCase[];
  readonly order: readonly string[];
}

const NOW = Date.parse('2026-01-01T01:00:00Z');
const CASES = JSON.parse(readFileSync(new URL('./deletion-order.json', import.meta.url), 'utf8')) as OrderCase[];
const before = (seconds: number) => formatTime(NOW - seconds * 1000);
const containerStatus = (name: string, restartCount: number) => ({
  name,
  restartCount,
  ready: true,
  image: 'i',
  imageID: 'i',
});

function podOf(one: PodCase): Pod {
  const { name, node, phase, readyFor, cost, restarts = 0, sidecarRestarts = 0, initRestarts = 0, age = 60 } = one;
  const time = readyFor === null || readyFor === undefined ? {} : { lastTransitionTime: before(readyFor) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      creationTimestamp: before(age),
      ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
    },
    spec: {
      containers: [],
      initContainers: [{ name: 'init' }, { name: 'sidecar', restartPolicy: 'Always' }],
      ...(node === undefined ? {} : { nodeName: node }),
    },
    status: {
      ...(phase === undefined ? {} : { phase }),
      containerStatuses: [containerStatus('c', restarts)],
      initContainerStatuses: [containerStatus('init', initRestarts), containerStatus('sidecar', sidecarRestarts)],
      ...(readyFor === undefined ? {} : { conditions: [{ type: 'Ready', status: 'True', ...time }] }),
    },
  };
}

describe('the order in which pods are given up', () => {
  it.each(CASES)('$name', ({ pods, related = pods, order }) => {
    const ranked = (list: readonly PodCase[]) =>
      rankForDeletion(list.map(podOf), related.map(podOf), NOW).map(({ metadata }) => metadata.name);
    expect(ranked(pods)).toEqual(order);
  });

  it.each(CASES.filter(({ order }) => !order.includes('init') && !order.includes('b1') && !order.includes('a-plus')))(
    'does not depend on the order in which they are seen: $name',
    ({ pods, related = pods, order }) => {
      const reversed = [...pods].reverse();
      const ranked = rankForDeletion(reversed.map(podOf), related.map(podOf), NOW);
      expect(ranked.map(({ metadata }) => metadata.name)).toEqual(order);
    },
  );
});

describe('the ages of pods that are given up', () => {
  it('are multiples of the age of the youngest ready pod, of ready pods alone', () => {
    const [young, middle, old] = [
      { name: 'young', readyFor: 1, age: 10 },
      { name: 'middle', readyFor: 1, age: 19 },
      { name: 'old', readyFor: 1, age: 25 },
    ].map(podOf) as [Pod, Pod, Pod];
    const unready = podOf({ name: 'unready', age: 1 });
    const all = [old, unready, young, middle];
    expect(ageRatios([old, unready, middle, young], all, NOW)).toEqual([2, 1, 1]);
    expect(ageRatios([unready], all, NOW)).toEqual([]);
  });

  it('are numbers where a pod is as young as can be', () => {
    expect(
      ageRatios([podOf({ name: 'new', readyFor: 0, age: 0 })], [podOf({ name: 'new', readyFor: 0, age: 0 })], NOW),
    ).toEqual([0]);
  });
});
