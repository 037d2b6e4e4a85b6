import { ManualClock } from '@gantry/base/testing';
import { EtcdError } from '@gantry/etcd';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EtcdReach } from './etcd-reach.ts';

type Answer = 'yes' | 'no' | 'never' | 'refused';

let clock: ManualClock;
let stop: AbortController;
let answers: Answer[];
let asked: number[];
let given: number[];
let releases: number;
let readsEnded: number;
let isAnotherReady: boolean;
let other: () => Promise<boolean>;
let release: () => void;
let reach: EtcdReach;
let running: Promise<void>;

beforeEach(() => {
  [clock, stop] = [new ManualClock(), new AbortController()];
  [answers, asked, given, releases, isAnotherReady] = [['yes', 'yes', 'yes'], [0, 0, 0], [], 0, true];
  readsEnded = 0;
  other = () => Promise.resolve(isAnotherReady);
  release = () => (releases += 1);
  reach = new EtcdReach({
    members: [0, 1, 2].map((member) => () => {
      asked[member] = (asked[member] ?? 0) + 1;
      return ask(answers[member] ?? 'never');
    }),
    giveUpWrites: (waitedMs) => given.push(waitedMs),
    giveUpReads: () => (readsEnded += 1),
    isAnotherReady: () => other(),
    releaseConnections: () => release(),
    clock,
    logger: silentLogger,
  });
  running = reach.member.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
});

function ask(answer: Answer): Promise<unknown> {
  if (answer === 'never') return new Promise(() => undefined);
  if (answer === 'refused') return Promise.reject(new EtcdError('permission-denied', 'no'));
  return answer === 'no' ? Promise.reject(new EtcdError('unavailable', 'no leader')) : Promise.resolve();
}

async function pass(seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed++) await clock.advance(1000);
}

const failure = () => {
  try {
    return void reach.check.check();
  } catch (error) {
    return String(error);
  }
};

test('one member is asked each second while etcd answers', async () => {
  await pass(30);
  expect(failure()).toBeUndefined();
  expect(asked.reduce((sum, count) => sum + count)).toBe(31);
  expect([given, releases]).toEqual([[], 0]);
});

test.each([
  ['only one member answers', ['never', 'never', 'yes']],
  ['the members answer with errors of their own', ['refused', 'refused', 'refused']],
] as const)('etcd is not lost while %s', async (_, each) => {
  answers = [...each];
  await pass(60);
  expect(failure()).toBeUndefined();
});

test.each(['no', 'never'] as const)(
  'after five seconds without an answer (%s), it is not ready and writes end that have waited for as long',
  async (each) => {
    isAnotherReady = false;
    await pass(3);
    answers = [each, each, each];
    await pass(4);
    expect(failure()).toBeUndefined();
    expect(given).toEqual([]);
    await pass(2);
    expect(failure()).toContain('does not answer');
    expect(given.every((waitedMs) => waitedMs === 5000)).toBe(true);
    expect(given.length).toBeGreaterThan(0);
    expect(readsEnded).toBe(0);
  },
);

test('one that is cut off alone is not ready after three seconds, and its requests end after five', async () => {
  await pass(3);
  answers = ['no', 'no', 'no'];
  await pass(2);
  expect(failure()).toBeUndefined();
  await pass(2);
  expect(failure()).toContain('no leader');
  expect([given, readsEnded]).toEqual([[], 0]);
  await pass(2);
  expect(given).toContain(0);
  expect(readsEnded).toBe(given.length);
});

test('connections end before the writes on them, when load balancers know that it is not ready', async () => {
  answers = ['no', 'no', 'no'];
  // The question at the start was answered.
  await pass(7);
  expect([given.length, releases]).toEqual([2, 0]);
  release = () => given.push(Number.NaN);
  await pass(1);
  expect(given.slice(2)).toEqual([Number.NaN, 0]);
});

test('another API server that hangs holds nothing up', async () => {
  other = () => new Promise(() => undefined);
  answers = ['no', 'no', 'no'];
  await pass(10);
  expect(failure()).toContain('no leader');
  expect(given.length).toBeGreaterThan(3);
  expect(releases).toBe(0);
});

test('connections end only while another API server is ready', async () => {
  answers = ['no', 'no', 'no'];
  isAnotherReady = false;
  await pass(60);
  expect(releases).toBe(0);
  isAnotherReady = true;
  await pass(2);
  expect(releases).toBeGreaterThan(0);
  answers = ['no', 'yes', 'no'];
  await pass(2);
  expect(failure()).toBeUndefined();
  const before = releases;
  answers = ['no', 'no', 'no'];
  await pass(7);
  expect(failure()).toContain('no leader');
  expect(releases).toBe(before);
  await pass(2);
  expect(releases).toBeGreaterThan(before);
});

test('what another API server said before etcd answered again does not count', async () => {
  answers = ['no', 'no', 'no'];
  await pass(4);
  expect(failure()).toBeDefined();
  answers = ['yes', 'yes', 'yes'];
  await pass(2);
  isAnotherReady = false;
  answers = ['no', 'no', 'no'];
  await pass(4);
  expect(failure()).toBeUndefined();
});
