import { expect, it } from 'vitest';
import { comparison, type Figure } from './figures.ts';

const rate = (work: string, value: number): Figure => ({ work, what: 'rate', value, unit: '/s', better: 'more' });
const cpu = (work: string, value: number): Figure => ({ work, what: 'CPU', value, unit: 'us', better: 'less' });

it('compares the works that both have, with ratios above one where ours is better', () => {
  const reference = { name: 'Kubernetes', figures: [rate('create', 1645), cpu('create', 887), cpu('patch', 995)] };
  const ours = { name: 'Gantry', figures: [rate('create', 2296), cpu('create', 464), cpu('watch', 20)] };
  expect(comparison(reference, ours)).toEqual([
    '| work | Kubernetes | Gantry | ratio |',
    '| --- | --- | --- | --- |',
    '| create: rate; CPU | 1645/s; 887 us | 2296/s; 464 us | 1.4 x; 1.9 x |',
  ]);
});

it('compares only figures of the same unit', () => {
  const ms = { ...cpu('list', 30), unit: 'ms' };
  expect(comparison({ name: 'saved', figures: [cpu('list', 30_000)] }, { name: 'now', figures: [ms] })).toHaveLength(2);
});

it('shows no ratio to nothing', () => {
  const before = { name: 'saved', figures: [rate('writes', 0)] };
  expect(comparison(before, { name: 'now', figures: [rate('writes', 3)] }).at(-1)).toBe(
    '| writes: rate | 0/s | 3/s | - |',
  );
});
