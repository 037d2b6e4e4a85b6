import type { VerdictSoFar } from '@gantry/chaos-checker';
import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { electionOf, Leaders } from './elections.ts';
import { renderLive, showLive } from './show-live.ts';
import { showLines } from './show-lines.ts';
import { exampleFault, exampleResult } from './testing/example-run.ts';
import { Tally } from './workloads/tally.ts';

const result = { ...exampleResult, violations: ['counter-0 is 3 after 4 acknowledged increments'] };
const value = Buffer.from('abc_1').toString('base64');
const elected = {
  type: 'put',
  key: '/gantry/elections/kube-scheduler',
  value,
  createRevision: 5,
  modRevision: 5,
  version: 1,
} as const;

/** What the checker says while the run goes on. */
const broken = (untilMs: number): VerdictSoFar => ({
  untilMs,
  invariants: [
    {
      invariant: 'I7',
      title: 'A pod is bound once',
      checked: 3,
      unit: 'changes',
      violationCount: 1,
      violations: [{ what: 'web-1 moved', atMs: untilMs, evidence: [] }],
    },
  ],
});

test('an election is news once, whichever member of etcd reports it first', () => {
  const leaders = new Leaders();
  const [election] = electionOf(elected);
  const [ended] = electionOf({ type: 'delete', key: elected.key, modRevision: 9 });
  if (election === undefined || ended === undefined) throw new Error('no election');
  expect([election, election, ended, election].map((one) => leaders.add(one))).toEqual([true, false, true, false]);
  expect(leaders.all).toEqual([{ component: 'kube-scheduler', epoch: 9, holder: '' }]);
  expect(electionOf({ ...elected, key: '/registry/pods/a/b' })).toEqual([]);
});

test('lines show faults, elections, load and the verdict', async () => {
  const clock = new ManualClock();
  let text = '';
  const tally = new Tally();
  const view = showLines(clock, (more) => (text += more));
  view.onWorking(tally);
  view.onStart(exampleFault, 'agent and apiserver');
  for (const election of electionOf(elected)) view.onElection(election);
  await clock.advance(2_000);
  tally.ack(0);
  view.onHeal(exampleFault);
  await clock.advance(8_000);
  view.onResult(result);
  view[Symbol.dispose]();
  await clock.advance(60_000);
  expect(text.split('\n')).toEqual([
    '   0.0 s  0 requests acknowledged, 0 refused, 0 unknown; longest gap 0.0 s',
    '   0.0 s  f1 cut agent/1 apiserver starts: agent and apiserver',
    '   0.0 s  kube-scheduler: abc_1 leads, epoch 5',
    '   2.0 s  f1 cut agent/1 apiserver ends',
    '  10.0 s  1 requests acknowledged, 0 refused, 0 unknown; longest gap 0.0 s',
    '  10.0 s  VIOLATION: counter-0 is 3 after 4 acknowledged increments',
    '  10.0 s  violations: 1; 1 faults of 1 kinds, 5 acknowledged requests, longest gap 1.5 s (seed 7)',
    '',
  ]);
});

test('the picture fits the screen, and its lines stay when it ends', async () => {
  const clock = new ManualClock();
  let text = '';
  const screen = { columns: 44, rows: 12, write: (more: string) => (text += more) };
  const view = showLive(clock, screen, () => Promise.resolve([]));
  view.onPlan([exampleFault], '/run');
  view.onStart(exampleFault, 'agent and apiserver');
  text = '';
  await clock.advance(500);
  expect(text).toContain('  cut agent/1 apiserver  4.5 s left  age');
  view.onHeal(exampleFault);
  text = '';
  await clock.advance(500);
  expect(text).toContain('faults now: none');
  for (let times = 0; times < 2; times++) view.onVerdict(broken(clock.monotonicMs()));
  text = '';
  await clock.advance(500);
  expect(text).toContain('invariants until 1.0 s: 0 hold, 1 broken');
  expect(text.match(/ {2}I7: web-1 moved/g)).toHaveLength(1);
  text = '';
  view.onResult(result);
  view[Symbol.dispose]();
  expect(text).toContain('f1 cut agent/1 apiserver starts: agent and apiserver\n');
  expect(text.match(/VIOLATION so far: I7: web-1 moved/g)).toHaveLength(1);
  expect(text.trimEnd().endsWith('(seed 7)')).toBe(true);
  text = '';
  await clock.advance(60_000);
  expect(text).toBe('');
});

test('a small screen shows the head alone', () => {
  const state = {
    elapsedMs: 0,
    planned: 1,
    done: 0,
    round: 1,
    acting: [],
    leaders: new Leaders(),
    nodes: [],
    tally: new Tally(),
    checks: [],
    events: ['an event'],
  };
  expect(renderLive(state, { columns: 10, rows: 3 })).toEqual(['chaos  0.0', '', 'faults now']);
});
