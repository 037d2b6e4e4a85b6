import type { Job } from '@gantry/objects';
import { expect, test } from 'vitest';
import { wrongNumbers } from './appends.ts';
import { runnable } from './index.ts';
import { wrongWith } from './jobs.ts';
import { stepsTo } from './rollouts.ts';
import { failureOf, Tally } from './tally.ts';
import type { Workload } from './workload.ts';

test.each([
  ['all acknowledged lines', [1, 2, 4], [1, 4], []],
  ['without an acknowledged line', [1, 3], [1, 2, 3], ['1 acknowledged lines are lost: 2']],
  ['with a line twice', [1, 2, 2], [1], ['1 lines are doubled or out of order: 2']],
  ['with lines of two writers', [1, 3, 2], [1, 2, 3], ['1 lines are doubled or out of order: 2']],
])('a file %s', (_, file, acknowledged, wrong) => {
  expect(wrongNumbers(file, acknowledged)).toEqual(wrong);
});

const job = (succeeded: number, complete: 'True' | 'False'): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'job-0' },
  spec: { completions: 2, template: { spec: { containers: [] } } },
  status: { succeeded, conditions: [{ type: 'Complete', status: complete }] },
});

test.each([
  ['complete, with its marks', job(2, 'True'), ['job-0/0@a', 'job-0/1@b', 'job-1/0@c'], []],
  ['incomplete', job(1, 'False'), [], ['job-0 has 1 of 2 completions']],
  ['complete with a wrong count', job(3, 'True'), [], ['job-0 has 3 of 2 completions']],
  [
    'complete without a mark',
    job(2, 'True'),
    ['job-0/0@a', 'job-0/10@b'],
    ['job-0 is complete, and completion 1 has left no mark'],
  ],
])('a Job that is %s', (_, one, marks, wrong) => {
  expect(wrongWith(one, marks)).toEqual(wrong);
});

test('requests to Services are counted by their end', () => {
  const tally = new Tally();
  const codes = ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'HPE_INVALID_CONSTANT'];
  for (const code of codes) tally.fail(failureOf(Object.assign(new Error(code), { code })));
  tally.fail(failureOf(new DOMException('late', 'TimeoutError')));
  tally.serve(20);
  tally.serve(1_500);
  tally.serve(30);
  expect(tally.services).toEqual({
    served: 3,
    failures: { refused: 1, reset: 1, 'timed out': 2, other: 1 },
    longestGapMs: 1_500,
  });
});

test('what is sent when the load is over makes no gap', () => {
  const tally = new Tally();
  for (const atMs of [0, 100]) tally.ack(atMs);
  tally.end();
  tally.ack(60_000);
  expect(tally).toMatchObject({ acknowledged: 3, longestGapMs: 100 });
});

test('the longest gap since a mark counts one that goes on, and not those before', () => {
  const tally = new Tally();
  for (const atMs of [0, 5_000]) tally.ack(atMs);
  tally.mark();
  for (const atMs of [5_010, 5_310]) tally.ack(atMs);
  expect(tally.gapSinceMark(5_400)).toBe(300);
  expect(tally.gapSinceMark(6_000)).toBe(690);
  expect(tally.longestGapMs).toBe(5_000);
});

test('a Deployment is scaled up one by one, and down at once', () => {
  expect(stepsTo(5, 2)).toEqual([3, 4, 5]);
  expect(stepsTo(2, 5)).toEqual([2]);
  expect(stepsTo(3, 3)).toEqual([3]);
});

test('a workload that needs what this machine has not is left out, with the reason', () => {
  const needing = (name: string, missing: string | undefined): Workload => ({
    name,
    what: '',
    missing: () => missing,
    start: async () => await Promise.reject(new Error('it is not started')),
  });
  const there = needing('there', undefined);
  const { workloads, impossible } = runnable([needing('gone', 'no program'), there]);
  expect(workloads).toEqual([there]);
  expect(impossible).toEqual(new Map([['gone', 'no program']]));
});
