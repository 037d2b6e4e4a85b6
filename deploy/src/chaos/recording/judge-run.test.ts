import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { EtcdEvent, Run, VerdictSoFar } from '@gantry/chaos-checker';
import { expect, onTestFinished, test } from 'vitest';
import { judgeRun } from './judge-run.ts';
import { RunFolder } from './run-folder.ts';

const BEGUN: Run = {
  format: 1,
  clusterId: 'gantry',
  seed: 7,
  startedAt: '2026-01-01T00:00:00Z',
  startedAtMs: 0,
  endedAt: '2026-01-01T00:00:00Z',
  endedAtMs: 0,
  options: {},
  plan: [],
  incarnation: '',
  etcdMembers: ['etcd-0'],
  firstRevision: 11,
  lastRevision: 10,
};

async function startFolder() {
  const path = await mkdtemp(join(tmpdir(), 'judge-run-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const clock = new ManualClock();
  const folder = new RunFolder(path, clock);
  folder.initialKeys({ revision: 10, keys: [] });
  folder.etcd('etcd-0', { opened: { fromRevision: 11 } });
  /** The holder of an election, at the epoch 11. */
  const elect = (holder: string, modRevision: number) => {
    const value = Buffer.from(holder).toString('base64');
    const key = '/gantry/elections/kube-scheduler';
    const event: EtcdEvent = { type: 'put', key, value, createRevision: 11, modRevision, version: modRevision - 10 };
    folder.etcd('etcd-0', { revision: modRevision, events: [event] });
  };
  return { clock, folder, elect };
}

test('the run is judged while it is recorded, with what is written at each time', async () => {
  const { clock, folder, elect } = await startFolder();
  await using _ = folder;
  folder.run(BEGUN, 'begun.json');
  elect('one', 11);
  await clock.advance(10);
  const untilMs = clock.monotonicMs();
  const stop = new AbortController();
  let next = Promise.withResolvers<VerdictSoFar>();
  const problems: string[] = [];
  const done = judgeRun(
    { folder, clock, onVerdict: (verdict) => next.resolve(verdict), onProblem: (text) => problems.push(text) },
    stop.signal,
  );
  const first = await next.promise;
  const epochs = ({ invariants }: VerdictSoFar) => invariants.find(({ invariant }) => invariant === 'I1');
  expect([first.untilMs, epochs(first)]).toMatchObject([untilMs, { checked: 1, violationCount: 0 }]);
  next = Promise.withResolvers();
  elect('two', 12);
  // The checks take a small share of a processor: the next one comes after some seconds.
  await clock.advance(600_000);
  const second = await next.promise;
  expect(epochs(second)?.violations.map(({ what }) => what)).toEqual([
    expect.stringContaining('two took epoch 11 from one'),
  ]);
  stop.abort();
  await done;
  expect(problems).toEqual([]);
});

test('a run that cannot be read is a problem that is said once, and no more', async () => {
  const { clock, folder } = await startFolder();
  await using _ = folder;
  const stop = new AbortController();
  const said = Promise.withResolvers<string>();
  const done = judgeRun(
    { folder, clock, onVerdict: () => said.reject(new TypeError('a verdict')), onProblem: said.resolve },
    stop.signal,
  );
  expect(await said.promise).toMatch(/^the run is not judged yet: .*begun\.json/);
  stop.abort();
  await done;
});
