import { describe, expect, it } from 'vitest';
import { externalMetric, objectMetric, podsMetrics, resourceMetrics } from './metric-answers.ts';
import { printSelector } from './metric-readings.ts';

const timestamp = '2026-01-01T00:00:00Z';
const at = Date.parse(timestamp);
const pod = (name: string, containers: readonly { name: string; usage: Record<string, string> }[]) => ({
  metadata: { name },
  timestamp,
  window: '10.5s',
  containers: [...containers],
});

describe('resource metrics', () => {
  const items = [
    pod('whole', [
      { name: 'a', usage: { cpu: '250m', memory: '1Ki' } },
      { name: 'b', usage: { cpu: '1500000n', memory: '1Ki' } },
    ]),
    pod('partly', [
      { name: 'a', usage: { cpu: '1' } },
      { name: 'b', usage: {} },
    ]),
    pod('empty', []),
  ];

  it('are the sum of the containers, of pods of which all are known', () => {
    expect([...resourceMetrics({ items }, 'cpu', '')]).toEqual([['whole', { value: 252, at, windowMs: 10_500 }]]);
    expect(resourceMetrics({ items }, 'memory', '').get('whole')?.value).toBe(2_048_000);
  });

  it('of one container are known wherever it is', () => {
    expect([...resourceMetrics({ items }, 'cpu', 'a')].map(([name, { value }]) => [name, value])).toEqual([
      ['whole', 250],
      ['partly', 1000],
    ]);
  });

  it('are missing as a whole where the answer has none', () => {
    expect(() => resourceMetrics({ items: [] }, 'cpu', '')).toThrow('no metrics returned from resource metrics API');
    expect(() => resourceMetrics({}, 'cpu', '')).toThrow('no metrics returned from resource metrics API');
  });
});

describe('custom and external metrics', () => {
  it('have a window of a minute where none is given', () => {
    const item = { describedObject: { name: 'p' }, timestamp, value: '1500m' };
    expect([...podsMetrics({ items: [item] })]).toEqual([['p', { value: 1500, at, windowMs: 60_000 }]]);
    expect(podsMetrics({ items: [{ ...item, windowSeconds: 30 }] }).get('p')?.windowMs).toBe(30_000);
  });

  it('of one object are one', () => {
    expect(objectMetric({ items: [{ value: '3' }] })).toBe(3000);
    expect(() => objectMetric({ items: [] })).toThrow('returned 0 results when we asked for exactly one');
    expect(() => objectMetric({ items: [{ value: '1' }, { value: '2' }] })).toThrow('returned 2 results');
  });

  it('may be several values', () => {
    expect(externalMetric({ items: [{ value: '1' }, { value: '0' }] })).toEqual([1000, 0]);
    expect(() => externalMetric({ items: [] })).toThrow('no metrics returned from external metrics API');
  });
});

it('selectors are printed as Go prints them', () => {
  expect(printSelector(undefined)).toBe('nil');
  const matchExpressions = [{ key: 'k', operator: 'In', values: ['a', 'b'] }];
  expect(printSelector({ matchLabels: { b: '2', a: '1' }, matchExpressions })).toBe(
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[a b],},},}',
  );
});
