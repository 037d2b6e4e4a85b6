import { expect, test } from 'vitest';
import type { Checked } from './checked-run.ts';
import { COMPARED, formatComparison } from './comparison.ts';
import { exampleResult } from './testing/example-run.ts';

test('what is compared is what both have', () => {
  const targets = new Set(COMPARED.kinds.flatMap((kind) => kind.targets));
  expect([...targets].toSorted()).toEqual(['apiserver/1', 'controller-manager/leader', 'etcd/1', 'scheduler/leader']);
  expect(COMPARED.kinds).toHaveLength(6);
  expect(COMPARED.workloads.map(({ name }) => name)).toEqual([
    'watchers',
    'counters',
    'finalizers',
    'quotas',
    'electors',
    'requests',
  ]);
});

const load = { requests: 100, failed: 0, repeated: 0, p50Ms: 3, longestGapMs: 40 };

function checked(more: Partial<Checked['result']>, p99Ms: number): Checked {
  const holds = { invariant: 'I1', title: '', unit: 'terms', checked: 3, violationCount: 0, violations: [] };
  const loads = [
    { ...load, during: 'calm', p99Ms },
    { ...load, during: 'faults', p99Ms: 10 * p99Ms },
  ];
  return {
    result: { ...exampleResult, ...more },
    verdict: { outcome: 'ok', problems: [], invariants: [holds], loads },
  } as unknown as Checked;
}

test('gaps stand beside each other, with the longest of each fault', () => {
  const round = (faults: string, longestGapMs: number) => ({ faults, longestGapMs });
  const ours = checked({ rounds: [round('kill etcd/1', 120), round('kill etcd/1', 340)] }, 12.4);
  const theirs = checked(
    { rounds: [round('kill etcd/1', 4_100), round('pause etcd/1', 9_000)], violations: ['I33: lost'] },
    9,
  );
  expect(formatComparison(ours, theirs).split('\n')).toEqual([
    '| | Gantry | Kubernetes |',
    '| --- | --- | --- |',
    '| faults | 1 | 1 |',
    '| requests acknowledged | 5 | 5 |',
    '| requests without a response | 0 | 0 |',
    '| longest time without an acknowledgement | 1.5 s | 1.5 s |',
    '| the same, of `kill etcd/1` | 0.3 s (2 times) | 4.1 s (once) |',
    '| the same, of `pause etcd/1` | not made | 9.0 s (once) |',
    '| p99 of requests at a rate, without and with faults | 12 ms, 124 ms | 9 ms, 90 ms |',
    '| invariants | 1 hold, 0 broken, 0 not checked | 1 hold, 0 broken, 0 not checked |',
    '| violations | 0 | 1 |',
    'Kubernetes: VIOLATION: I33: lost',
  ]);
});
