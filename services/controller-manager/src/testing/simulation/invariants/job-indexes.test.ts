import { JOBS, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { World } from '../world.ts';
import { indexLimitInvariant } from './job-indexes.ts';
import { deleted, owned, play, type Step } from './scripted-world.ts';

const SPEC = { backoffLimitPerIndex: 1, completions: 2 };
const job = (status: object = {}): Step => [JOBS, 'j', { spec: SPEC, status }];
const pod = (name: string, failures: number, phase: string, metadata: object = {}): Step => [
  PODS,
  name,
  {
    metadata: {
      ...owned('Job', 'j'),
      ...metadata,
      annotations: {
        'batch.kubernetes.io/job-completion-index': '0',
        'batch.kubernetes.io/job-index-failure-count': String(failures),
      },
    },
    status: { phase },
  },
];
const FAILED: readonly Step[] = [job(), pod('a', 0, 'Failed'), pod('b', 1, 'Failed')];

it.each<readonly [name: string, good: readonly Step[], bad: Step]>([
  ['an index that has failed gets a pod', [...FAILED, job({ failedIndexes: '0' })], pod('c', 1, 'Pending')],
  [
    'an index that has succeeded gets a pod',
    [job(), pod('a', 0, 'Succeeded'), job({ completedIndexes: '0' })],
    pod('b', 0, 'Pending'),
  ],
  ['a pod begins beyond the limit', FAILED, pod('c', 2, 'Pending')],
  ['a successor forgets a failure', FAILED, pod('c', 0, 'Pending')],
  ['an index fails before its limit', [job(), pod('a', 0, 'Failed')], job({ failedIndexes: '0' })],
  ['an index succeeds without a pod', [job(), pod('a', 0, 'Succeeded')], job({ completedIndexes: '0,1' })],
  [
    'an index fails and succeeds',
    [...FAILED, pod('b', 1, 'Succeeded')],
    job({ failedIndexes: '0', completedIndexes: '0' }),
  ],
])('is violated when %s', (_name, good, bad) => {
  const world = new World();
  const violations: string[] = [];
  indexLimitInvariant.watch(world, (violation) => violations.push(violation));
  play(world, good);
  expect(violations).toEqual([]);
  play(world, [bad]);
  expect(violations).toHaveLength(1);
});

it.each([
  ['is removed by its Job', 'Pending', 0],
  ['has failed', 'Failed', 1],
])('counts the failures of an index from the start when its last pod %s', (_name, phase, count) => {
  const world = new World();
  const violations: string[] = [];
  indexLimitInvariant.watch(world, (violation) => violations.push(violation));
  const finalizers = ['batch.kubernetes.io/job-tracking'];
  play(world, [job(), pod('a', 0, 'Failed', { finalizers }), pod('b', 1, 'Pending', { finalizers })]);
  play(world, [pod('b', 1, phase, {}), pod('b', 1, phase, deleted), pod('c', 0, 'Pending', { finalizers })]);
  expect(violations).toHaveLength(count);
});

it('says nothing of a Job without a limit for each index', () => {
  const world = new World();
  const violations: string[] = [];
  indexLimitInvariant.watch(world, (violation) => violations.push(violation));
  play(world, [[JOBS, 'j', { spec: { completions: 1 }, status: { completedIndexes: '0' } }], pod('a', 5, 'Pending')]);
  expect(violations).toEqual([]);
});
