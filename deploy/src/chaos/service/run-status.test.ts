import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { exampleFault, exampleResult } from '../testing/example-run.ts';
import { Tally } from '../workloads/tally.ts';
import { RunStatus } from './run-status.ts';

const invariant = {
  invariant: 'I1',
  title: 'Epochs increase',
  checked: 3,
  unit: 'terms',
  violationCount: 0,
  violations: [],
};
const verdict = { outcome: 'ok', problems: [], found: [], invariants: [invariant], loads: [] } as const;

function startRun() {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const status = new RunStatus(clock, 7);
  status.view.onPlan([exampleFault], '/run');
  return { clock, status };
}

test('faults are active from their start to their end, and requests are counted as they are made', () => {
  const { status } = startRun();
  expect(status.current).toMatchObject({ phase: 'Preparing', seed: 7, plannedFaults: 1, folder: '/run' });
  const tally = new Tally();
  status.view.onWorking(tally);
  status.view.onStart(exampleFault, 'agent-1 and apiserver-1');
  tally.ack(0);
  tally.ack(1_500.4);
  status.view.onElection({ component: 'kube-scheduler', epoch: 5, holder: 'abc' });
  expect(status.current).toMatchObject({
    phase: 'Running',
    startedFaults: 1,
    active: [{ fault: 'cut agent/1 apiserver', detail: 'agent-1 and apiserver-1', endsAt: '2026-01-01T00:00:05Z' }],
    leaders: [{ component: 'kube-scheduler', epoch: 5, holder: 'abc' }],
    requests: { acknowledged: 2, refused: 0, unknown: 0 },
    longestGapMs: 1_500,
  });
  status.view.onHeal(exampleFault);
  expect(status.current.active).toEqual([]);
  expect(status.current.lines?.at(-1)).toContain('f1 cut agent/1 apiserver ends');
});

test.each([
  [{}, 'Passed', 'no violation'],
  [{ violations: ['counter-0 is 3'] }, 'Violated', 'counter-0 is 3'],
  [{ faults: 0 }, 'Inconclusive', 'no fault was made'],
  [{ ended: 'by the user' }, 'Inconclusive', 'ended early'],
] as const)('a result with %j is %s', (more, phase, message) => {
  const { status } = startRun();
  const end = status.end({ result: { ...exampleResult, ...more }, verdict });
  expect(end).toMatchObject({ phase, message, replay: 'npm run chaos -- --replay /run' });
  expect(end.invariants).toEqual([
    { invariant: 'I1', title: 'Epochs increase', state: 'holds', checked: 3, unit: 'terms' },
  ]);
  expect(end.endedAt).toBe('2026-01-01T00:00:00Z');
});

test('the checker has its say while the run goes on, and the last word at its end', async () => {
  const { clock, status } = startRun();
  await clock.advance(5_000);
  const broken = {
    ...invariant,
    invariant: 'I7',
    violationCount: 1,
    violations: [{ what: 'web-1 moved', atMs: 1, evidence: [] }],
  };
  const open = { ...invariant, invariant: 'I21', checked: 0, notChecked: 'decided at the end' };
  status.view.onVerdict({ untilMs: clock.monotonicMs() - 2_000, invariants: [invariant, broken, open] });
  expect(status.current).toMatchObject({
    checks: 'so far 1 hold, 1 broken, 1 not checked',
    checkedUntil: '2026-01-01T00:00:03Z',
    violations: ['I7: web-1 moved'],
    invariants: [{ state: 'holds' }, { state: 'broken' }, { state: 'not checked', notChecked: 'decided at the end' }],
  });
  expect(status.current.lines?.at(-1)).toContain('VIOLATION so far: I7: web-1 moved');
  const end = status.end({ result: exampleResult, verdict });
  expect(end).toMatchObject({ phase: 'Passed', checks: '1 hold, 0 broken, 0 not checked', violations: [] });
  expect(end.invariants).toHaveLength(1);
  expect(end).not.toHaveProperty('checkedUntil');
});

test('texts and their number are bounded', () => {
  const { status } = startRun();
  for (let line = 0; line < 300; line++) status.view.onPhase('x'.repeat(2_000));
  const { lines = [], message = '' } = status.current;
  expect(lines).toHaveLength(100);
  expect(Math.max(message.length, ...lines.map(({ length }) => length))).toBeLessThan(600);
  const violations = Array.from({ length: 1_000 }, () => 'y'.repeat(2_000));
  const found = violations.map((what, index) => ({ what: `${index} ${what}`, atMs: 0, evidence: [] }));
  status.view.onVerdict({ untilMs: 0, invariants: [{ ...invariant, violationCount: 1_000, violations: found }] });
  expect(JSON.stringify(status.current).length).toBeLessThan(100_000);
  const end = status.end({ result: { ...exampleResult, violations }, verdict });
  expect(JSON.stringify(end).length).toBeLessThan(100_000);
});
