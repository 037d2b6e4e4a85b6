import { ManualClock } from '@gantry/base/testing';
import { expect, test, vi } from 'vitest';
import type { PlannedFault } from './fault.ts';
import { type FaultRun, runFaults } from './run-faults.ts';

const FAULT: PlannedFault = {
  id: 'f1',
  kind: 'kill',
  target: 'scheduler/1',
  round: 0,
  atMs: 0,
  durationMs: 0,
  choice: 0,
};

/** A campaign on a cluster that becomes healthy when the test says so. */
function start(stop: AbortSignal) {
  const clock = new ManualClock();
  const problems: string[] = ['scheduler-1 is not running'];
  const phases: string[] = [];
  const events = { onStart: vi.fn(), onHeal: vi.fn(), onSkip: vi.fn(), onHealthy: vi.fn() };
  const run = {
    cluster: { problems: async () => problems },
    kinds: [{ kind: 'kill', strike: async () => 'killed' }],
    journal: { add: vi.fn(), stepsOf: () => [], drop: vi.fn() },
    folder: { fault: ({ phase }: { phase: string }) => phases.push(phase) },
    clock,
    events,
  } as unknown as FaultRun;
  return { clock, problems, phases, events, result: runFaults(run, [FAULT], Infinity, stop) };
}

test('waits until the cluster is healthy again', async () => {
  const { clock, problems, phases, result } = start(new AbortController().signal);
  await clock.advance(10_000);
  expect(phases).toEqual(['start', 'heal']);
  problems.length = 0;
  await clock.advance(1_000);
  expect(await result).toEqual({ faults: 1, kinds: 1, reached: 1, violations: [] });
  expect(phases).toEqual(['start', 'heal', 'healthy']);
});

test('a cluster that does not become healthy is a violation', async () => {
  const { clock, result } = start(new AbortController().signal);
  await clock.advance(242_000);
  expect(await result).toMatchObject({
    violations: ['not healthy after kill scheduler/1: scheduler-1 is not running'],
  });
});

test('a user who ends the campaign does not wait for its health', async () => {
  const stop = new AbortController();
  const { clock, phases, result } = start(stop.signal);
  await clock.advance(2_500);
  stop.abort();
  expect(await result).toMatchObject({ violations: [] });
  expect(phases).toEqual(['start', 'heal']);
});
