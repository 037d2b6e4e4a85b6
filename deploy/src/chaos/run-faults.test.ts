import { ManualClock } from '@gantry/base/testing';
import { expect, test, vi } from 'vitest';
import { StatusError } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import type { PlannedFault } from './fault.ts';
import type { HealthRecord } from './recording/run-folder.ts';
import { type FaultRun, runFaults } from './run-faults.ts';
import type { UndoStep } from './undo.ts';

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
function start(
  stop: AbortSignal,
  strike: () => Promise<string> = async () => 'killed',
  finish: () => Promise<void> = async () => undefined,
) {
  const clock = new ManualClock();
  const problems: string[] = ['scheduler-1 is not running'];
  const phases: string[] = [];
  const health: HealthRecord[] = [];
  const texts: string[] = [];
  const steps: UndoStep[] = [];
  const events = { onStart: vi.fn(), onHeal: vi.fn(), onSkip: vi.fn(), onHealthy: vi.fn() };
  const run = {
    cluster: {
      problems: async () => {
        if (problems.includes('no engine')) throw new CommandError('docker ps failed');
        return problems;
      },
      removeWebhook: () => Promise.reject(StatusError.unavailable('no API server can be reached')),
      engine: {
        services: async () => [{ id: 'a', name: 'scheduler-1' }],
        options: {
          shell: {
            run: async (_: string, [what]: readonly string[]) => ({ code: 0, stdout: `its ${what}`, stderr: '' }),
          },
        },
      },
    },
    kinds: [{ kind: 'kill', strike, finish }],
    journal: { add: vi.fn(), stepsOf: () => steps, drop: vi.fn() },
    folder: {
      fault: ({ phase }: { phase: string }) => phases.push(phase),
      health: (record: HealthRecord) => health.push(record),
      text: (file: string, text: string) => texts.push(`${file}: ${text}`),
    },
    clock,
    healthyMs: 240_000,
    events,
  } as unknown as FaultRun;
  return { clock, problems, phases, health, texts, steps, events, result: runFaults(run, [FAULT], Infinity, stop) };
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

test('a cluster that does not become healthy is a violation, and the artefacts have what its containers say', async () => {
  const { clock, texts, result } = start(new AbortController().signal);
  await clock.advance(242_000);
  expect(await result).toMatchObject({
    violations: ['not healthy after kill scheduler/1: scheduler-1 is not running'],
  });
  expect(texts).toEqual(['containers/scheduler-1.txt: its inspect\nits logs']);
});

test('the artefacts say what was not healthy, whenever that changes, also if nobody could look', async () => {
  const { clock, problems, health, texts, result } = start(new AbortController().signal);
  await clock.advance(10_000);
  problems.push('no engine');
  await clock.advance(2_000);
  problems.length = 0;
  await clock.advance(1_000);
  await result;
  expect(health.map((record) => record.problems)).toEqual([
    ['scheduler-1 is not running'],
    ['the state of the cluster cannot be read: docker ps failed'],
    [],
  ]);
  expect(health.map(({ round, lookMs }) => [round, lookMs])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  expect(texts).toEqual([]);
});

test('a user who ends the campaign does not wait for its health', async () => {
  const stop = new AbortController();
  const { clock, phases, result } = start(stop.signal);
  await clock.advance(2_500);
  stop.abort();
  expect(await result).toMatchObject({ violations: [] });
  expect(phases).toEqual(['start', 'heal']);
});

test.each([new CommandError('scheduler has no leader'), StatusError.unavailable('no API server can be reached')])(
  'a fault that cannot be made is skipped: %s',
  async (error) => {
    const { clock, problems, events, result } = start(new AbortController().signal, () => Promise.reject(error));
    problems.length = 0;
    await clock.advance(1);
    expect(await result).toMatchObject({ faults: 0, violations: [] });
    expect(events.onSkip).toHaveBeenCalledWith(FAULT, error.message);
  },
);

test('a step of the healing that an overlapping fault holds up is repeated', async () => {
  const { clock, problems, steps, phases, result } = start(new AbortController().signal);
  steps.push({ undo: 'remove-webhook', name: 'w' });
  problems.length = 0;
  await clock.advance(30_000);
  expect(phases).toEqual(['start']);
  steps.length = 0;
  await clock.advance(1000);
  expect(await result).toMatchObject({ faults: 1, violations: [] });
  expect(phases).toEqual(['start', 'heal', 'healthy']);
});

test('a defect of a fault ends the campaign', async () => {
  const { clock, result } = start(new AbortController().signal, async () => {
    throw new TypeError('undefined is not a function');
  });
  const ended = expect(result).rejects.toThrow('undefined is not a function');
  await clock.advance(1);
  await ended;
});

test('what a fault does at its end comes before it is healed, and its failure ends the campaign', async () => {
  const seen: (readonly string[])[] = [];
  const { clock, phases, result } = start(new AbortController().signal, undefined, async () => {
    seen.push([...phases]);
    throw new CommandError('not restored');
  });
  const ended = expect(result).rejects.toThrow('not restored');
  await clock.advance(1);
  await ended;
  expect(seen).toEqual([['start']]);
  expect(phases).toEqual(['start']);
});

test('a fault that the user ends does nothing at its end', async () => {
  const stop = new AbortController();
  const finish = vi.fn();
  const { clock, phases, result } = start(
    stop.signal,
    async () => {
      stop.abort();
      return 'saved';
    },
    finish,
  );
  await clock.advance(1);
  expect(await result).toMatchObject({ faults: 1, violations: [] });
  expect(phases).toEqual(['start', 'heal']);
  expect(finish).not.toHaveBeenCalled();
});

test('a command of a fault that ends with the campaign of the user is no defect', async () => {
  const stop = new AbortController();
  const { clock, phases, result } = start(stop.signal, undefined, async () => {
    stop.abort();
    throw new CommandError('compose stop failed (130)');
  });
  await clock.advance(1);
  expect(await result).toMatchObject({ violations: [] });
  expect(phases).toEqual(['start', 'heal']);
});
